package argocd

import (
	"context"
	"errors"
	"maps"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

// recordReads is how often a record is read again when it is replaced while being read.
const recordReads = 3

// LoadRecord reads the record of a set; nil when there is none. A record that a newer provider
// has written is ErrTooNew, and one that cannot be read is a *RecordDamagedError.
func (c *Client) LoadRecord(ctx context.Context, owner Owner) (*Record, error) {
	var err error
	for range recordReads {
		var r *Record
		r, err = c.loadRecord(ctx, owner)
		if !errors.Is(err, errPartGone) {
			return r, err
		}
	}
	return nil, damaged(owner, err)
}

var errPartGone = errors.New("a part of it is missing")

func (c *Client) loadRecord(ctx context.Context, owner Owner) (*Record, error) {
	head, err := c.configMap(ctx, owner, recordName(owner))
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	header, err := decodeHead(owner, head)
	if err != nil {
		return nil, err
	}
	packed, err := chunkOf(head)
	if err != nil {
		return nil, damaged(owner, err)
	}
	for n := 1; n <= header.parts; n++ {
		part, err := c.configMap(ctx, owner, recordPartName(owner, header.digest, n))
		if apierrors.IsNotFound(err) {
			return nil, errPartGone
		}
		if err != nil {
			return nil, err
		}
		chunk, err := chunkOf(part)
		if err != nil {
			return nil, damaged(owner, err)
		}
		packed = append(packed, chunk...)
	}
	if header.record.Payload, err = unpack(packed, header.digest); err != nil {
		return nil, damaged(owner, err)
	}
	return header.record, nil
}

// SaveRecord writes the record: a new one when r was not loaded. ErrConflict means that somebody
// has written it since r was loaded or saved. Of the rollouts, the last KeptRollouts are stored.
func (c *Client) SaveRecord(ctx context.Context, owner Owner, r *Record) error {
	head, parts, err := encodeRecord(owner, r)
	if err != nil {
		return err
	}
	for _, part := range parts {
		// A part is named after its content, so one that exists is this one.
		if _, err := c.writeConfigMap(ctx, owner, part); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	saved, err := c.writeConfigMap(ctx, owner, head)
	if err != nil {
		return err
	}
	had := r.parts
	r.version, r.parts = saved.GetResourceVersion(), len(parts)
	if had+len(parts) == 0 {
		return nil
	}
	keep := map[string]bool{}
	for _, part := range parts {
		keep[part.GetName()] = true
	}
	left, err := c.recordParts(ctx, owner)
	for _, name := range left {
		if !keep[name] && err == nil {
			err = c.deleteConfigMap(ctx, owner, name, metav1.DeleteOptions{})
		}
	}
	return err
}

// DeleteRecord deletes the record r, as it was loaded or saved last, with all its parts; nil where
// there is none. ErrConflict means that somebody has written it since, and then it stays. A head
// that is left by a killed process can be read, and finds all that is to be deleted with it.
func (c *Client) DeleteRecord(ctx context.Context, owner Owner, r *Record) error {
	if r != nil && r.parts > 0 {
		r.Payload = Payload{}
		if err := c.SaveRecord(ctx, owner, r); err != nil {
			return err
		}
	}
	// What a killed SaveRecord has left. Whoever writes a record from now on writes other parts.
	left, err := c.recordParts(ctx, owner)
	if err != nil {
		return err
	}
	if r != nil {
		if err := c.deleteConfigMap(ctx, owner, recordName(owner), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &r.version}}); err != nil {
			return err
		}
	}
	for _, name := range left {
		if err := c.deleteConfigMap(ctx, owner, name, metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	return nil
}

func (c *Client) maps(owner Owner) dynamic.ResourceInterface {
	return c.dynamic.Resource(configMaps).Namespace(owner.Namespace)
}

func mapRequest(verb string, owner Owner, name string) RequestError {
	return RequestError{Verb: verb, Resource: "configmaps", Namespace: owner.Namespace, Name: name}
}

func (c *Client) configMap(ctx context.Context, owner Owner, name string) (cm *unstructured.Unstructured, err error) {
	err = c.request(ctx, mapRequest("get", owner, name), func() (err error) {
		cm, err = c.maps(owner).Get(ctx, name, metav1.GetOptions{})
		return err
	})
	return cm, err
}

// writeConfigMap replaces the ConfigMap that has the same resourceVersion, or creates one. When the
// answer to a write is lost, repeating it meets what it has written itself: that is no conflict.
func (c *Client) writeConfigMap(ctx context.Context, owner Owner, cm *unstructured.Unstructured) (saved *unstructured.Unstructured, err error) {
	verb, write := "update", func() (err error) {
		saved, err = c.maps(owner).Update(ctx, cm, metav1.UpdateOptions{})
		return err
	}
	if cm.GetResourceVersion() == "" {
		verb, write = "create", func() (err error) {
			saved, err = c.maps(owner).Create(ctx, cm, metav1.CreateOptions{})
			return err
		}
	}
	err = c.request(ctx, mapRequest(verb, owner, cm.GetName()), write)
	if !isConflict(err) {
		return saved, err
	}
	found, readErr := c.configMap(ctx, owner, cm.GetName())
	if readErr != nil || !sameContent(found, cm) {
		return nil, err
	}
	return found, nil
}

// sameContent tells that two ConfigMaps hold the same, and are marked alike.
func sameContent(a, b *unstructured.Unstructured) bool {
	return reflect.DeepEqual(a.Object["data"], b.Object["data"]) && reflect.DeepEqual(a.Object["binaryData"], b.Object["binaryData"]) &&
		maps.Equal(a.GetLabels(), b.GetLabels()) && maps.Equal(a.GetAnnotations(), b.GetAnnotations())
}

// recordParts are the names of all parts of the record of a set.
func (c *Client) recordParts(ctx context.Context, owner Owner) ([]string, error) {
	var found *metav1.PartialObjectMetadataList
	selector := SetLabel + "=" + owner.Hash() + "," + recordLabel + "=" + recordPart
	err := c.request(ctx, mapRequest("list", owner, ""), func() (err error) {
		found, err = c.metadata.Resource(configMaps).Namespace(owner.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
		return err
	})
	if err != nil {
		return nil, err
	}
	names := make([]string, len(found.Items))
	for i := range found.Items {
		names[i] = found.Items[i].Name
	}
	return names, nil
}

// deleteConfigMap deletes a ConfigMap of a record; that it is gone already is fine.
func (c *Client) deleteConfigMap(ctx context.Context, owner Owner, name string, options metav1.DeleteOptions) error {
	err := c.request(ctx, mapRequest("delete", owner, name), func() error {
		return c.maps(owner).Delete(ctx, name, options)
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
