package appset

import (
	"errors"
	"fmt"
	"regexp"
	"sort"
	"strings"
	"sync"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"github.com/gosimple/slug"
	"sigs.k8s.io/yaml"
)

// goTemplateFuncs are the functions of applicationset/utils, Argo CD 3.6.1: the
// generic Sprig functions without those that read the environment, and
// normalize, slugify, toYaml, fromYaml and fromYamlArray. (tpl is added by
// compileGoTemplate.) Refused functions are there too, so that a text that uses
// one parses; called, for instance from within tpl, they fail.
var goTemplateFuncs = makeGoTemplateFuncs()

func makeGoTemplateFuncs() template.FuncMap {
	funcs := template.FuncMap(sprig.GenericFuncMap())
	delete(funcs, "env")
	delete(funcs, "expandenv")
	delete(funcs, "getHostByName")
	for name := range refusedFuncs {
		funcs[name] = func(...any) (string, error) { return "", refusal(name) }
	}
	funcs["normalize"] = normalizeName
	funcs["slugify"] = slugify
	funcs["toYaml"] = toYAML
	funcs["fromYaml"] = fromYAML
	funcs["fromYamlArray"] = fromYAMLArray
	for _, name := range []string{"osBase", "osClean", "osDir", "osExt", "osIsAbs"} {
		funcs[name] = funcs[strings.ToLower(name[2:3])+name[3:]] // as on Linux, wherever Terraform runs
	}
	boundFuncs(funcs)
	countedBuiltins(funcs)
	// Sprig returns these two in the random order of a Go map.
	funcs["keys"] = keysInOrder
	funcs["values"] = valuesInOrder
	return funcs
}

const (
	fromClock  = "its result depends on the clock or the time zone"
	fromRandom = "its result is random"
)

// refusedFuncs would make every plan differ from the one before.
var refusedFuncs = map[string]string{
	"now": fromClock, "ago": fromClock, "date": fromClock, "dateInZone": fromClock, "date_in_zone": fromClock,
	"htmlDate": fromClock, "htmlDateInZone": fromClock, "toDate": fromClock, "mustToDate": fromClock,
	"randAlpha": fromRandom, "randAlphaNum": fromRandom, "randAscii": fromRandom, "randNumeric": fromRandom,
	"randBytes": fromRandom, "randInt": fromRandom, "shuffle": fromRandom, "uuidv4": fromRandom,
	"genPrivateKey": fromRandom, "genCA": fromRandom, "genCAWithKey": fromRandom,
	"genSelfSignedCert": fromRandom, "genSelfSignedCertWithKey": fromRandom,
	"genSignedCert": fromRandom, "genSignedCertWithKey": fromRandom,
	"bcrypt": fromRandom, "htpasswd": fromRandom, "encryptAES": fromRandom,
}

func refusal(function string) error {
	return fmt.Errorf("the function %s is not allowed: %s, so that no two plans would be the same", function, refusedFuncs[function])
}

var notInName = regexp.MustCompile("[^-a-z0-9.]")

// normalizeName makes a DNS name: lower case, other characters become "-", at
// most 253 characters, no "-" or "." at the ends.
func normalizeName(name string) string {
	name = notInName.ReplaceAllString(strings.ToLower(name), "-")
	if len(name) > 253 {
		name = name[:253]
	}
	return strings.Trim(name, "-.")
}

// slugLock guards the options of package slug, which are global variables.
var slugLock sync.Mutex

// slugify takes [maxSize [smartTruncate]] name; the last argument is always the name.
func slugify(args ...any) (string, error) {
	size, smart, name := 50, true, ""
	if len(args) > 3 {
		return "", fmt.Errorf("slugify takes at most 3 arguments, but got %d", len(args))
	}
	for i, arg := range args {
		var ok bool
		switch {
		case i == len(args)-1:
			name, ok = arg.(string)
		case i == 0:
			size, ok = arg.(int)
		default:
			smart, ok = arg.(bool)
		}
		if !ok {
			return "", fmt.Errorf("argument %d of slugify is %s; it takes [maxSize [smartTruncate]] name", i+1, describe(arg))
		}
	}
	if size < 0 {
		return "", errors.New("the maximum size of slugify must not be negative")
	}
	slugLock.Lock()
	defer slugLock.Unlock()
	slug.EnableSmartTruncate, slug.MaxLength = smart, size
	return slug.Make(normalizeName(name)), nil
}

func toYAML(v any) (string, error) {
	data, err := yaml.Marshal(v)
	return strings.TrimSuffix(string(data), "\n"), err
}

func fromYAML(text string) (map[string]any, error) {
	out := map[string]any{}
	err := readYAML([]byte(text), &out)
	return out, err
}

func fromYAMLArray(text string) ([]any, error) {
	out := []any{}
	err := readYAML([]byte(text), &out)
	return out, err
}

func keysInOrder(maps ...map[string]any) []string {
	out := []string{}
	for _, m := range maps {
		out = append(out, sortedKeys(m)...)
	}
	sort.Strings(out)
	return out
}

func valuesInOrder(m map[string]any) []any {
	out := []any{}
	for _, key := range sortedKeys(m) {
		out = append(out, m[key])
	}
	return out
}
