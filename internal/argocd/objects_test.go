package argocd

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestAListWhosePageHasExpiredIsBegunAgain(t *testing.T) {
	tooOld := apierrors.NewResourceExpired("the continue token is too old")
	type answer struct {
		asked    string // the continue token of the request
		name     string // of the only object
		version  string
		next     string // the continue token of the answer
		refusing error
	}
	for name, test := range map[string]struct {
		answers []answer
		want    []string
		version string
		fails   error
	}{
		"in the middle: what has been read is forgotten": {
			[]answer{{name: "gone", next: "1"}, {asked: "1", name: "old", next: "2"}, {asked: "2", refusing: tooOld}, {name: "new", next: "3"}, {asked: "3", name: "newer", version: "9"}},
			[]string{"new", "newer"}, "9", nil,
		},
		"at the beginning: that is an error": {[]answer{{refusing: tooOld}}, nil, "", tooOld},
	} {
		t.Run(name, func(t *testing.T) {
			left := test.answers
			list := func(_ context.Context, options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
				if len(left) == 0 || options.Continue != left[0].asked || options.Limit != pageSize || options.LabelSelector != "a=b" {
					t.Fatalf("asked for %+v, to be answered were %+v", options, left)
				}
				a := left[0]
				left = left[1:]
				if a.refusing != nil {
					return nil, a.refusing
				}
				page := &unstructured.UnstructuredList{Items: make([]unstructured.Unstructured, 1)}
				page.Items[0].SetName(a.name)
				page.SetContinue(a.next)
				page.SetResourceVersion(a.version)
				return page, nil
			}
			names := func(page *unstructured.UnstructuredList) []string { return []string{page.Items[0].GetName()} }
			c := &Client{retry: newRetrier(&outages{now: time.Now})}
			found, version, err := inPages(t.Context(), c, appRequest("list", "argocd", ""), metav1.ListOptions{LabelSelector: "a=b"}, list, names)
			if !slices.Equal(found, test.want) || version != test.version || !errors.Is(err, test.fails) || len(left) > 0 {
				t.Errorf("found %q at version %q (%v), and %+v was not asked for", found, version, err, left)
			}
		})
	}
}
