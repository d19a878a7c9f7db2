package provider

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/argocd"
)

// enter takes the lease of the set, and then reads the set: what is decided on it is not
// changed by another apply meanwhile. leave must be called.
func (c *connected) enter(ctx context.Context, s settings) diag.Diagnostics {
	if diags := c.lock(ctx, s); diags.HasError() {
		return diags
	}
	c.watched.stage("reading the record and the Applications")
	return c.load(ctx)
}

// lock takes the lease of the set. From then on every write needs it.
func (c *connected) lock(ctx context.Context, s settings) diag.Diagnostics {
	var diags diag.Diagnostics
	c.runID = newID()
	c.watch(ctx)
	c.watched.stage("taking the lock of the set")
	lease, err := c.client.AcquireLease(ctx, c.owner, argocd.LeaseOptions{
		Holder: fmt.Sprintf("%s, process %d", actor(), os.Getpid()), Run: c.runID, Timeout: s.lockTimeout,
		Waiting: func(holder argocd.LeaseHolder) {
			c.watched.stage("waiting for another apply of the set, by %s", holder)
		},
	})
	var held *argocd.LeaseHeldError
	var other *argocd.LeaseOwnerError
	switch {
	case err == nil:
		c.lease, c.client = lease, c.client.Under(lease)
	case errors.As(err, &held):
		diags.AddError("Set locked", c.locked(held, s.lockTimeout))
	case errors.As(err, &other):
		diags.AddError("Lease of another set", paragraphs(
			fmt.Sprintf("%s cannot be locked: %s. Nothing was changed.", c.owner, err),
			fmt.Sprintf("Choose another name for one of the sets; or, if nothing needs that Lease, delete it: kubectl -n %s delete lease %s", other.Namespace, other.Name)))
	default:
		diags.Append(c.resource.requestDiagnostic(fmt.Sprintf("Taking the lease of %s, before anything is changed", c.owner), err))
	}
	return diags
}

// locked tells who holds the lease, and how to go on.
func (c *connected) locked(held *argocd.LeaseHeldError, timeout time.Duration) string {
	waited := fmt.Sprintf("This apply has waited for %s (rollout.lock_timeout). Nothing was changed.", timeout)
	switch {
	case held.Interrupted:
		waited = "This apply was cancelled while it waited for that. Nothing was changed."
	case timeout == 0:
		waited = "This apply does not wait for that (rollout.lock_timeout). Nothing was changed."
	}
	return paragraphs(
		fmt.Sprintf("Another apply of the set %s is running. It is by %s.", c.owner, held.Holder),
		waited,
		"Run terraform apply again when it has ended, or let it wait: rollout.lock_timeout = \"30m\". If that process is dead, its lease expires by itself within 15 s.",
		lookAtLease(held.Namespace, held.Name))
}

// lookAtLease is the command that shows a lease.
func lookAtLease(namespace, name string) string {
	return fmt.Sprintf("Look at the lease: kubectl -n %s get lease %s -o yaml", namespace, name)
}

// lockLost tells that somebody has taken the lease; ok is false for every other error.
func lockLost(doing string, err error) (summary, detail string, ok bool) {
	var lost *argocd.LeaseLostError
	if !errors.As(err, &lost) {
		return "", "", false
	}
	return "Lock lost", paragraphs(
		fmt.Sprintf("%s stopped: %s. Nothing new was written after that.", doing, lost),
		"A lease is taken over when its holder could not renew it for 15 s (this process, or the network, stood still), or by hand. "+
			"Make sure that no other apply of the set runs, and run terraform apply again: it goes on with what is not done.",
		lookAtLease(lost.Namespace, lost.Name)), true
}

// leave lets others have the lease. Where there is no record of the set, it is not needed any more.
func (c *connected) leave(ctx context.Context) {
	c.unwatch()
	if c.lease == nil {
		return
	}
	if c.loaded && !c.recorded {
		err := c.lease.Delete(ctx)
		if err == nil {
			return
		}
		tflog.Warn(ctx, "cannot delete the lease of the set", map[string]any{"set": c.owner.String(), "error": err.Error()})
	}
	if err := c.lease.Release(ctx); err != nil {
		tflog.Warn(ctx, "cannot release the lease of the set; it expires by itself", map[string]any{"set": c.owner.String(), "error": err.Error()})
	}
}
