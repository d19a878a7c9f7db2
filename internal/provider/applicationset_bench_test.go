package provider

import (
	"context"
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// BenchmarkPlan is the provider's part of `terraform plan` for a set of 10,000 Applications at rest:
// validation and plan, over the plugin protocol.
func BenchmarkPlan(b *testing.B) {
	names := make([]string, 10_000)
	for i := range names {
		names[i] = fmt.Sprintf("dev-%d", i)
	}
	config := dynamic(b, configOf(manifestOf(shaA, names...)))
	server, err := providerserver.NewProtocol6WithError(New("test")())()
	if err != nil {
		b.Fatal(err)
	}
	configure(b, server)
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if resp, err := server.ValidateResourceConfig(ctx, &tfprotov6.ValidateResourceConfigRequest{TypeName: typeApplicationSet, Config: config}); err != nil || len(resp.Diagnostics) > 0 {
			b.Fatal(err, resp)
		}
		resp, err := server.PlanResourceChange(ctx, &tfprotov6.PlanResourceChangeRequest{
			TypeName: typeApplicationSet, PriorState: dynamic(b, nil), Config: config, ProposedNewState: config,
		})
		if err != nil {
			b.Fatal(err)
		}
		for _, d := range resp.Diagnostics {
			if d.Severity == tfprotov6.DiagnosticSeverityError {
				b.Fatal(d.Summary, d.Detail)
			}
		}
	}
}
