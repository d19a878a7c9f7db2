package acceptance

import (
	"os"
	"testing"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane/cptest"
)

func TestMain(m *testing.M) { os.Exit(cptest.Main(m)) }
