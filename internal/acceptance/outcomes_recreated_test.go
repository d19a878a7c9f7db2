package acceptance

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/controlplane/faultproxy"
)

// recreate deletes an Application, without its resources, and makes it anew: with another UID and without a status. One that is
// not ours has none of its labels, annotations and finalizers.
func (f *fixture) recreate(ctx context.Context, suffix string, ours bool) error {
	name, apps := f.app(suffix), f.client.Resource(applications).Namespace(argoNamespace)
	again := &unstructured.Unstructured{}
	err := f.edit(ctx, name, func(old *unstructured.Unstructured) error {
		again.Object = obj{"apiVersion": old.GetAPIVersion(), "kind": old.GetKind(), "metadata": obj{"name": name}, "spec": old.Object["spec"]}
		if ours {
			again.SetLabels(old.GetLabels())
			again.SetAnnotations(old.GetAnnotations())
			again.SetFinalizers(old.GetFinalizers())
		}
		old.SetFinalizers(nil)
		return nil
	})
	if err != nil {
		return err
	}
	if err := apps.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	_, err = apps.Create(ctx, again, metav1.CreateOptions{})
	return err
}

func TestAccAnApplicationThatIsDeletedAndMadeAnewDuringARollout(t *testing.T) {
	for name, c := range map[string]struct {
		suffix, during string // recreated is the first while the second is progressing
		ours           bool
		stops          []string // empty where the rollout goes on
		soak           bool     // in a soak only
	}{
		"before its turn, like it was: it is rolled out all the same": {
			suffix: "qa", during: "dev", ours: true, soak: true,
		},
		"before its turn, and not ours any more: nothing is written to it": {
			suffix: "qa", during: "dev",
			stops: []string{"Request refused", "it appeared in namespace argocd a moment ago, made by somebody else", "kubectl -n argocd get"},
		},
		"in flight: it has vanished, and the next apply takes what there is": {
			suffix: "qa", during: "qa", ours: true,
			stops: []string{"Application vanished", "Somebody has deleted it", "terraform apply"},
		},
		"after its turn, like it was: the next step waits until it is healthy again": {
			suffix: "dev", during: "qa", ours: true, soak: true,
		},
		"after its turn, and not ours any more: it is gone, and so the rollout stops": {
			suffix: "dev", during: "qa", soak: true,
			stops: []string{"the Application is gone", "argocd app get argocd/"},
		},
	} {
		if c.soak && !soaks() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			o := newWatchedOutcome(t)
			f, app := o.f, o.f.app(c.suffix)
			again := o.during(c.during, "2", func(ctx context.Context) error {
				if err := f.recreate(ctx, c.suffix, c.ours); err != nil || c.suffix == c.during {
					return err
				}
				return f.setHealth(ctx, f.app(c.during), "Healthy")
			})
			if c.suffix == c.during {
				// Then the status right after the sync is proof enough, and no request is under way when it is recreated.
				o.set(obj{"min_healthy_time": "1s"})
			}
			switch {
			case c.stops == nil:
				o.goesOn(again, "2", c.suffix)
				return
			case c.suffix == "dev":
				again.Start()
				o.stopsAfterDev(c.stops...)
			default:
				again.Start()
				o.stops(c.stops...)
			}
			f.must(again.Check, o.r.untouched(f.app("prod")))
			if !c.ours {
				o.r.reset()
				refused := o.tf.want(exitFailed, "apply", "-auto-approve")
				if !says("Applications exist already", app, "made by someone else").MatchString(refused.out) {
					t.Errorf("the error does not name %s:\n%s", app, refused.out)
				}
				f.must(o.r.untouched(f.apps("dev", "qa", "prod")...), func() error {
					return f.client.Resource(applications).Namespace(argoNamespace).Delete(f.ctx(), app, metav1.DeleteOptions{})
				})
			}
			f.release("2", c.during)
			o.ends()
			f.must(o.r.operations(1, app, f.app("prod")))
		})
	}
}

// Nothing is decided about an Application before a request about it is answered, and so it is never seen to be away.
func TestAccAnApplicationThatIsMadeAnewDuringARequestAboutItIsSomebodyElses(t *testing.T) {
	var x *faults
	o := newOutcome(t, func(f *fixture, s *set) {
		x = f.faults(1)
		s.Provider = x.through()
	})
	f, qa := o.f, o.f.app("qa")
	second := f.release("2", "dev", "qa", "prod")
	made := make(chan error, 1)
	// Each sync ends with a patch, which asks for a comparison. Patches that nudge Argo CD, and those of the plan, are others.
	compares := func(r *http.Request) bool {
		if !faultproxy.On("applications", "patch").Named(qa)(r) {
			return false
		}
		body, err := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if err != nil || !bytes.Contains(body, []byte("refresh-timestamp")) {
			return false
		}
		s := newAppState(f.getApp(f.ctx(), qa))
		return !s.Pending && s.Phase == "Succeeded" && s.OpRevision == second
	}
	x.Add(faultproxy.Rule{On: compares, Times: 1, Do: func(w http.ResponseWriter, r *http.Request, forward http.HandlerFunc) {
		made <- f.recreate(f.ctx(), "qa", true)
		forward(w, r)
	}})
	again := f.actor(func(ctx context.Context) error {
		select {
		case err := <-made:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	again.Start()
	o.stops("Application recreated by someone else", "kubectl -n argocd get applications.argoproj.io "+qa)
	f.must(again.Check, o.r.untouched(f.app("prod")), o.r.operations(1, qa))
	o.finishes()
}
