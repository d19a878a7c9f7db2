package provider

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// BenchmarkApplications is the provider's part of reading data.argocdprogressive_applications with
// 10,000 Applications, over the plugin protocol.
func BenchmarkApplications(b *testing.B) {
	names := make([]string, 10_000)
	for i := range names {
		names[i] = fmt.Sprintf("dev-%d", i)
	}
	config, err := json.Marshal(map[string]any{
		"name": "guestbook", "namespace": nil, "spec": nil, "manifest": manifestOf(shaA, names...),
		"applications": nil, "yaml": nil, "waves": nil,
	})
	if err != nil {
		b.Fatal(err)
	}
	server, err := providerserver.NewProtocol6WithError(New("test")())()
	if err != nil {
		b.Fatal(err)
	}
	configure(b, server)
	b.ReportAllocs()
	for b.Loop() {
		resp, err := server.ReadDataSource(context.Background(), &tfprotov6.ReadDataSourceRequest{
			TypeName: "argocdprogressive_applications", Config: &tfprotov6.DynamicValue{JSON: config},
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
