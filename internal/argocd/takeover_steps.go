package argocd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A take-over has five steps, and each of them can be the last of a process: the next apply begins
// again with the first one, and finds what is done.
//
//  1. The record: which Applications the set has, and what it was (by the caller, see TakeOver).
//  2. The set is frozen: deletionOrder becomes AllAtOnce, for with Reverse the controller deletes the
//     Applications even under orphan propagation; the strategy stays, for without RollingSync the controller
//     switches automated sync on again; and a generator is added that always fails. The controller ends a
//     reconciliation whose generators fail before it touches an Application, and says so in the status. From
//     then on nothing of it is under way that would put ownerReferences on the Applications again after
//     they are gone, which garbage collection would take for a reason to delete them.
//  3. The Applications are let go: their references to the set are removed. Nothing puts them on again by now,
//     and without them nobody's deletion of the set can take an Application along. Garbage collection would remove them as
//     well (orphan propagation), but overlooks Applications that it does not know yet: it looks for new kinds every 30 s.
//  4. The set is deleted, with orphan propagation nevertheless, exactly the object that was seen frozen.
//  5. The Applications get our marks; before, the controller would strip them.
const (
	// firstInterval and longestInterval are between two looks at the progress of a step, which mostly takes less than a
	// second: a look may read a set, or the Applications of a namespace, of many megabytes.
	firstInterval   = 200 * time.Millisecond
	longestInterval = 2 * time.Second
	// putBackPatience is how long undoing may take after an error.
	putBackPatience = 10 * time.Second
	// answerPatience is how long the controller may take to see that the set is frozen: it generates the
	// Applications once more, which may mean to read git.
	answerPatience = 2 * time.Minute
	// writePatience is added for each Application, for the controller may just be writing them all, one after the other: by
	// default it writes 50 a second (ARGOCD_K8S_CLIENT_QPS; SetK8SConfigDefaults in pkg/apis/application/v1alpha1/types.go, Argo CD 3.6.1).
	writePatience = 50 * time.Millisecond
	// orphanPatience is for how long garbage collection may let none of the Applications go.
	orphanPatience = 5 * time.Minute
)

// Telling returns the client that says, for those who wait, what a take-over is about to do. say must not wait.
func (c *Client) Telling(say func(what string)) *Client {
	out := *c
	out.say = say
	return &out
}

func (c *Client) tell(format string, args ...any) {
	if c.say != nil {
		c.say(fmt.Sprintf(format, args...))
	}
}

// ReleaseApplications does the steps 2 to 4: it deletes the ApplicationSet of t so that its
// Applications stay, and returns when nothing controls them any more. changed is called with t when the set has
// other Applications than t says, before the set is deleted. An error that is ErrTakeOver says what to do.
func (c *Client) ReleaseApplications(ctx context.Context, owner Owner, t *TakeOver, changed func() error) error {
	set, err := c.InCluster(ctx, owner)
	if err != nil {
		return err
	}
	if set != nil && set.UID() == t.UID && set.object.GetDeletionTimestamp() == nil {
		if err := c.deleteKeeping(ctx, owner, t, changed); err != nil {
			return c.putBack(ctx, owner, t, err)
		}
	}
	c.tell("waiting until the ApplicationSet is gone")
	if err := c.awaitGone(ctx, owner, t); err != nil {
		return err
	}
	c.tell("waiting until no Application refers to the ApplicationSet")
	return c.awaitReleased(ctx, owner, t)
}

// deleteKeeping does the steps 2 to 4.
func (c *Client) deleteKeeping(ctx context.Context, owner Owner, t *TakeOver, changed func() error) error {
	c.tell("freezing the ApplicationSet")
	if err := c.freezeSet(ctx, owner, t.UID); err != nil {
		return err
	}
	if err := c.awaitFrozen(ctx, owner, t); err != nil {
		return err
	}
	if err := c.recount(ctx, owner, t, changed); err != nil {
		return err
	}
	if err := c.letGo(ctx, owner, t.UID); err != nil {
		return err
	}
	c.tell("deleting the ApplicationSet, keeping its Applications")
	return c.deleteFrozen(ctx, owner, t.UID)
}

// putBack undoes step 2 after an error, for nobody can tell whether there will be another apply.
func (c *Client) putBack(ctx context.Context, owner Owner, t *TakeOver, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), putBackPatience)
	defer cancel()
	c.tell("putting the ApplicationSet back as it was")
	if err := c.thaw(ctx, owner, t); err != nil {
		return fmt.Errorf("%w. Nor could the ApplicationSet be put back as it was (%s): until the next apply its controller changes nothing of its Applications; "+
			"to give up instead, let it go on: %s", cause, err, thawByHand(owner.Namespace, owner.Name, orderBefore(t.ApplicationSet)))
	}
	return cause
}

func setRequest(verb string, owner Owner) RequestError {
	return RequestError{Verb: verb, Resource: applicationSets.GroupResource().String(), Namespace: owner.Namespace, Name: owner.Name}
}

// recount finds the Applications that the controller has made or deleted before it saw the set
// frozen.
func (c *Client) recount(ctx context.Context, owner Owner, t *TakeOver, changed func() error) error {
	found, err := c.controlled(ctx, owner, t.UID)
	if err != nil {
		return err
	}
	now := maps.Clone(t.Applications)
	if now == nil {
		now = map[string]string{}
	}
	for name, app := range found {
		now[name] = string(app.GetUID())
	}
	if maps.Equal(now, t.Applications) {
		return nil
	}
	t.Applications = now
	return changed()
}

// deleteFrozen is step 4: only the very object that was seen to be frozen is deleted.
func (c *Client) deleteFrozen(ctx context.Context, owner Owner, uid string) error {
	err := c.every(ctx, answerPatience, func() (bool, error) {
		set, err := c.InCluster(ctx, owner)
		if err != nil || set == nil || set.UID() != uid || set.object.GetDeletionTimestamp() != nil {
			return true, err
		}
		order := text(set.object.Object, "spec", "strategy", "deletionOrder")
		if !set.Frozen() || !set.seenFrozen() || dict(set.object.Object, "spec", "strategy") != nil && order != "AllAtOnce" {
			return true, stuck("somebody has changed the ApplicationSet %s back while it was taken over. It was not deleted. Find out who applies it "+
				"(kubectl -n %s get applicationsets.argoproj.io %s -o yaml --show-managed-fields), and stop that", owner, owner.Namespace, owner.Name)
		}
		version, id, orphan := set.object.GetResourceVersion(), types.UID(uid), metav1.DeletePropagationOrphan
		err = c.request(ctx, setRequest("delete", owner), func() error {
			return c.dynamic.Resource(applicationSets).Namespace(owner.Namespace).Delete(ctx, owner.Name, metav1.DeleteOptions{
				PropagationPolicy: &orphan, Preconditions: &metav1.Preconditions{UID: &id, ResourceVersion: &version},
			})
		})
		switch {
		case isConflict(err):
			return false, nil
		case apierrors.IsNotFound(err):
			return true, nil
		}
		return true, err
	})
	if errors.Is(err, errPatience) {
		return busy(owner)
	}
	return err
}

// awaitGone waits until the set is gone. Where it was deleted by hand, garbage collection lets the
// Applications go first, one after the other.
func (c *Client) awaitGone(ctx context.Context, owner Owner, t *TakeOver) error {
	var left []string
	err := c.dwindle(ctx, orphanPatience, func() (int, error) {
		set, err := c.InCluster(ctx, owner)
		switch {
		case err != nil || set == nil:
			return 0, err
		case set.UID() != t.UID:
			return 0, stuck("another ApplicationSet %s has been created meanwhile, which will take the Applications back. Find out who applies it: kubectl -n %s get applicationsets.argoproj.io %s -o yaml --show-managed-fields; stop that, and delete it, keeping its Applications: %s",
				owner, owner.Namespace, owner.Name, set.DeleteByHand())
		}
		left = set.object.GetFinalizers()
		owned, err := c.controlled(ctx, owner, t.UID)
		// The Applications are let go before that finalizer is removed.
		if err == nil && len(owned) > 0 && !slices.Contains(left, metav1.FinalizerOrphanDependents) {
			err = stuck("somebody deletes the ApplicationSet %s together with its Applications: %s. They are not recreated before that is over; to keep those whose "+
				"turn has not come, take the references to it off them now: %sThen run terraform apply again", owner, someOf(owned), byHand(letGoByHand(owner.Namespace, t.UID)))
		}
		return len(owned) + 1, err
	})
	if errors.Is(err, errPatience) {
		return stuck("the ApplicationSet %s was deleted more than %s ago and is not gone; its finalizers are: %s. \"orphan\" is for kube-controller-manager to remove, which must run, the others "+
			"for the ApplicationSet controller: kubectl -n %s get pods", owner, orphanPatience, orNothing(left), c.namespace)
	}
	return err
}

// awaitReleased makes sure of step 3, also where the set was deleted by hand.
func (c *Client) awaitReleased(ctx context.Context, owner Owner, t *TakeOver) error {
	var left map[string]*metav1.PartialObjectMetadata
	err := c.dwindle(ctx, orphanPatience, func() (n int, err error) {
		left, err = c.controlled(ctx, owner, t.UID)
		return len(left), err
	})
	if errors.Is(err, errPatience) {
		return stuck("the ApplicationSet %s is gone, but these Applications still refer to it as their owner: %s. That is for kube-controller-manager to remove, which must run", owner, someOf(left))
	}
	return err
}

// errPatience: there was no progress for as long as there may be none.
var errPatience = errors.New("it has not come to that in time")

// every asks again and again whether something is done, at most for as long as patience.
func (c *Client) every(ctx context.Context, patience time.Duration, done func() (bool, error)) error {
	return c.dwindle(ctx, patience, func() (int, error) {
		ok, err := done()
		if ok {
			return 0, err
		}
		return 1, err
	})
}

// dwindle asks again and again how many are left of something, until none is. Patience is for how long there may
// be no fewer than ever before: thousands take their time, and what makes no progress does not end otherwise.
func (c *Client) dwindle(ctx context.Context, patience time.Duration, left func() (int, error)) error {
	least, deadline := math.MaxInt, c.retry.now().Add(patience)
	for interval := firstInterval; ; interval = min(interval*3/2, longestInterval) {
		n, err := left()
		if err != nil || n == 0 {
			return err
		}
		now := c.retry.now()
		switch {
		case n < least:
			if least != math.MaxInt {
				deadline = now.Add(patience)
			}
			least = n
		case !now.Before(deadline):
			return errPatience
		}
		if err := c.retry.sleep(ctx, interval); err != nil {
			return err
		}
	}
}
