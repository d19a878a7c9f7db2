package appset

// The fields of an Application as in pkg/apis/application/v1alpha1/types.go of
// Argo CD 3.6.1. withZero marks pointers (and plugin parameters, which have a
// marshaller of their own) whose zero value is not the same as absent; every
// other field is omitempty there, or means the same when it is empty. The tests
// compare these tables with the CRD.

var templateShape = object(fields{
	"metadata": object(fields{
		"name":        text(),
		"namespace":   text(),
		"labels":      mapOf(text()),
		"annotations": mapOf(text()),
		"finalizers":  list(text()),
	}),
	"spec": specShape,
})

var specShape = object(fields{
	"project":              text(),
	"source":               sourceShape,
	"sources":              list(sourceShape),
	"destination":          object(fields{"server": text(), "name": text(), "namespace": text()}),
	"syncPolicy":           syncPolicyShape,
	"ignoreDifferences":    list(ignoreDifferenceShape),
	"info":                 list(nameValueShape),
	"revisionHistoryLimit": integer().withZero(),
	"sourceHydrator":       hydratorShape,
})

var nameValueShape = object(fields{"name": text(), "value": text()}).requires("name", "value")

var sourceShape = object(fields{
	"repoURL":        text(),
	"path":           text(),
	"targetRevision": text(),
	"chart":          text(),
	"ref":            text(),
	"name":           text(),
	"tagPrefix":      text(),
	"helm":           helmShape,
	"kustomize":      kustomizeShape,
	"directory":      directoryShape,
	"plugin":         pluginShape,
}).requires("repoURL")

var helmShape = object(fields{
	"valueFiles":              list(text()),
	"parameters":              list(object(fields{"name": text(), "value": text(), "forceString": boolean()})),
	"fileParameters":          list(object(fields{"name": text(), "path": text()})),
	"releaseName":             text(),
	"values":                  text(),
	"valuesObject":            mapOf(free()).withZero(),
	"version":                 text(),
	"passCredentials":         boolean(),
	"ignoreMissingValueFiles": boolean(),
	"skipCrds":                boolean(),
	"skipTests":               boolean(),
	"skipSchemaValidation":    boolean(),
	"namespace":               text(),
	"kubeVersion":             text(),
	"apiVersions":             list(text()),
})

var kustomizeShape = object(fields{
	"namePrefix":                text(),
	"nameSuffix":                text(),
	"images":                    list(text()),
	"commonLabels":              mapOf(text()),
	"commonAnnotations":         mapOf(text()),
	"commonAnnotationsEnvsubst": boolean(),
	"forceCommonLabels":         boolean(),
	"forceCommonAnnotations":    boolean(),
	"labelWithoutSelector":      boolean(),
	"labelIncludeTemplates":     boolean(),
	"version":                   text(),
	"namespace":                 text(),
	"kubeVersion":               text(),
	"apiVersions":               list(text()),
	"replicas":                  list(object(fields{"name": text(), "count": intOrText()}).requires("name", "count")),
	"components":                list(text()),
	"ignoreMissingComponents":   boolean(),
	"patches": list(object(fields{
		"path":    text(),
		"patch":   text(),
		"options": mapOf(boolean()),
		"target": object(fields{
			"group": text(), "version": text(), "kind": text(), "name": text(), "namespace": text(),
			"annotationSelector": text(), "labelSelector": text(),
		}).withZero(),
	})),
})

var hydratorShape = object(fields{
	"drySource": object(fields{
		"repoURL": text(), "path": text(), "targetRevision": text(),
		"helm": helmShape, "kustomize": kustomizeShape, "directory": directoryShape, "plugin": pluginShape,
	}).requires("repoURL", "path", "targetRevision"),
	"syncSource": object(fields{"repoURL": text(), "path": text(), "targetBranch": text()}).requires("path", "targetBranch"),
	"hydrateTo":  object(fields{"targetBranch": text()}).requires("targetBranch"),
}).requires("drySource", "syncSource")

var jsonnetVarShape = object(fields{"name": text(), "value": text(), "code": boolean()}).requires("name", "value")

var directoryShape = object(fields{
	"recurse":                boolean(),
	"include":                text(),
	"exclude":                text(),
	"disableExtensionFilter": boolean(),
	"jsonnet": object(fields{
		"extVars": list(jsonnetVarShape),
		"tlas":    list(jsonnetVarShape),
		"libs":    list(text()),
	}),
})

var pluginShape = object(fields{
	"name": text(),
	"env":  list(nameValueShape),
	"parameters": list(object(fields{
		"name":   text(),
		"string": text().withZero(),
		"map":    mapOf(text()).withZero(),
		"array":  list(text()).withZero(),
	})),
}).withZero()

var syncPolicyShape = object(fields{
	"automated": object(fields{
		"prune":      boolean(),
		"selfHeal":   boolean(),
		"allowEmpty": boolean(),
		"enabled":    boolean().withZero(),
	}).withZero(),
	"syncOptions": list(text()),
	"retry": object(fields{
		"limit":   integer(),
		"refresh": boolean(),
		"backoff": object(fields{
			"duration":    text(),
			"factor":      integer().withZero(),
			"maxDuration": text(),
		}),
	}).withZero(),
	"managedNamespaceMetadata": object(fields{
		"labels":      mapOf(text()),
		"annotations": mapOf(text()),
	}).withZero(),
})

var ignoreDifferenceShape = object(fields{
	"group":                 text(),
	"kind":                  text(),
	"name":                  text(),
	"namespace":             text(),
	"jsonPointers":          list(text()),
	"jqPathExpressions":     list(text()),
	"managedFieldsManagers": list(text()),
}).requires("kind")
