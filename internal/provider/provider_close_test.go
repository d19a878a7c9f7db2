package provider

import (
	"errors"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset/appsettest"
)

// closing are inputs that count how often they are closed.
type closing struct {
	*appsettest.Fake
	err    error
	closed int
}

func (c *closing) Close() error {
	c.closed++
	return c.err
}

func TestWhatWasFetchedIsLetGoAtTheEnd(t *testing.T) {
	hideCluster(t)
	p := New("test")().(*argocdprogressive)
	var all []*closing
	for _, err := range []error{nil, errors.New("the disk is gone")} {
		var resp provider.ConfigureResponse
		p.Configure(t.Context(), provider.ConfigureRequest{
			Config: tfsdk.Config{Schema: providerSchema(), Raw: providerConfiguration(t, map[string]tftypes.Value{})},
		}, &resp)
		if resp.Diagnostics.HasError() {
			t.Fatal(resp.Diagnostics)
		}
		in := &closing{Fake: &appsettest.Fake{}, err: err}
		resp.ResourceData.(*ProviderData).generation.inputs = map[string]appset.Inputs{"argocd": logged{in}, "other": logged{&appsettest.Fake{}}}
		all = append(all, in)
	}
	if err := p.Close(); err == nil || !strings.Contains(err.Error(), "the disk is gone") {
		t.Errorf("Close() = %v", err)
	}
	if err := p.Close(); err != nil {
		t.Errorf("once more: %v", err)
	}
	for i, in := range all {
		if in.closed != 1 {
			t.Errorf("configuration %d was closed %d times", i, in.closed)
		}
	}
}
