package argocd

import (
	"context"
	"time"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// Refreshed is the outcome of Client.Refresh.
type Refreshed struct {
	// Live are the Applications that Argo CD has compared afresh, by name.
	Live map[string]rollout.Live
	// Unanswered are the names that were not compared in time, sorted.
	Unanswered []string
}

// Refresh asks Argo CD for a fresh comparison of each Application.
func (c *Client) Refresh(ctx context.Context, owner Owner, names []string, timeout time.Duration) (Refreshed, error) {
	return Refreshed{}, nil
}
