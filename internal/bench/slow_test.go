package main

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestASlowConfigMapHasOurFinalizerAndIsLetGoWithThoseOfOthers(t *testing.T) {
	if text := configMap("a", "v1", true); !strings.Contains(text, "  finalizers: ["+slowFinalizer+"]\n") {
		t.Errorf("it is\n%s", text)
	}
	if text := configMap("a", "v1", false); strings.Contains(text, "finalizers") {
		t.Errorf("one that is not slow is\n%s", text)
	}
	if left := withoutSlow([]string{"foregroundDeletion", slowFinalizer}); !slices.Equal(left, []string{"foregroundDeletion"}) {
		t.Errorf("the finalizers left are %v", left)
	}
}

func TestOnlyWhatCameFromGitCountsAsLeft(t *testing.T) {
	var maps []unstructured.Unstructured
	for _, name := range []string{"kube-root-ca.crt", "app-00000"} {
		var o unstructured.Unstructured
		o.SetName(name)
		maps = append(maps, o)
	}
	if n := deployed(maps); n != 1 {
		t.Errorf("%d are left, want 1", n)
	}
}

func TestALimitSaysWhatItWasFor(t *testing.T) {
	ctx, cancel := within(t.Context(), 0, "create of 3 in 1")
	defer cancel()
	<-ctx.Done()
	if got, want := context.Cause(ctx).Error(), "create of 3 in 1: not done within 0s"; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
	if s := (scale{300, 10}); s.rowTimeout() != 25*time.Minute || s.String() != "300 in 10" {
		t.Errorf("%s may take %s", s, s.rowTimeout())
	}
}
