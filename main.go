// Command terraform-provider-argocdprogressive serves the provider to Terraform.
package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"

	tfprovider "github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"

	// Credential plugins that kubeconfig files may name.
	_ "k8s.io/client-go/plugin/pkg/client/auth"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/provider"
)

// version is set by the release build (-ldflags "-X main.version=...").
var version = "dev"

const address = "registry.terraform.io/argocdprogressive/argocdprogressive"

func main() {
	// CI runners and "docker stop" send SIGTERM to the whole process group. Terraform turns it
	// into a graceful stop and waits for us; a plugin that dies of it loses the state of the
	// rollout at hand. Terraform's own Stop call cancels the context, so nothing is needed here.
	swallowed := make(chan os.Signal, 1)
	signal.Notify(swallowed, syscall.SIGTERM)

	debug := flag.Bool("debug", false, "wait for a debugger and print TF_REATTACH_PROVIDERS")
	flag.Parse()
	if !*debug {
		endWithTerraform()
	}

	served := provider.New(version)()
	err := providerserver.Serve(context.Background(), func() tfprovider.Provider { return served }, providerserver.ServeOpts{
		Address:         address,
		Debug:           *debug,
		ProtocolVersion: 6,
	})
	if closer, ok := served.(io.Closer); ok {
		err = errors.Join(err, closer.Close())
	}
	if err != nil {
		log.Fatal(err)
	}
}
