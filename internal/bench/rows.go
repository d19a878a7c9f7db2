package main

import (
	"context"
	"errors"
)

// row is a measurement, or several that build on each other. It leaves no Application behind.
type row struct {
	name    string
	measure func(context.Context, *bench) error
}

// rows are all of them, in order.
func rows() []row {
	return []row{
		{"warm-up", rowWarmUp},
		{"controller", rowsController},
		{"zero", func(ctx context.Context, b *bench) error { return rowsProvider(ctx, b, providerZero, "0s") }},
		{"defaults", func(ctx context.Context, b *bench) error { return rowsProvider(ctx, b, providerDefault, "") }},
		{"together", rowsProviderTogether},
		{"large", rowsLarge},
		{"slow", rowsSlow},
		{"engine", rowsEngine},
		{"plan", rowsPlan},
	}
}

// rowWarmUp rolls out and deletes once, unmeasured: programs, caches and the clone of the
// repository are warm for both sides then.
func rowWarmUp(ctx context.Context, b *bench) error {
	p, err := b.provider(ctx, "warm up", "0s")
	if err != nil {
		return err
	}
	if err := p.writeSet(b.set(together)); err != nil {
		return err
	}
	if err := p.apply(ctx, "warm up", b.commitAll()); err != nil {
		return err
	}
	if err := p.destroy(ctx, "warm up"); err != nil {
		return err
	}
	b.results = nil
	return nil
}

// rowsController measures Argo CD's own controller, which runs only meanwhile: in steps, then all
// at once.
func rowsController(ctx context.Context, b *bench) (err error) {
	if err := b.cluster.StartApplicationSetController(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.cluster.StopApplicationSetController()) }()
	return errors.Join(b.controllerInSteps(ctx), b.controllerTogether(ctx))
}

// controllerTogether measures the controller all at once: with automated sync, since without steps
// it does not sync at all.
func (b *bench) controllerTogether(ctx context.Context) error {
	if err := b.controllerCreate(ctx, createTogether, b.commitAll(), b.set(automated)); err != nil {
		return err
	}
	if err := b.recorder.until(ctx, b.scale.restTimeout(), b.scale.apps, "at rest", isAtRest); err != nil {
		return err
	}
	if err := b.controllerChange(ctx, changeTogether, b.commitAll()); err != nil {
		return err
	}
	return b.controllerDelete(ctx, removeTogether)
}

func (b *bench) controllerInSteps(ctx context.Context) error {
	if err := b.controllerCreate(ctx, create, b.commitAll(), b.set(rolling)); err != nil {
		return err
	}
	if err := b.controllerAtRest(ctx); err != nil {
		return err
	}
	if err := b.controllerChange(ctx, change, b.commitAll()); err != nil {
		return err
	}
	if err := b.controllerAtRest(ctx); err != nil {
		return err
	}
	return b.controllerDelete(ctx, remove)
}

// rowsLarge measures both sides in steps with many more Applications.
func rowsLarge(ctx context.Context, b *bench) error {
	defer b.at(b.options.large)()
	if err := rowsController(ctx, b); err != nil {
		return err
	}
	p, err := rollOut(ctx, b, providerZero, "0s", rolling, create, change)
	if err != nil {
		return err
	}
	return p.destroy(ctx, remove)
}

// rowsProvider measures the provider in steps.
func rowsProvider(ctx context.Context, b *bench, name, minHealthy string) error {
	p, err := rollOut(ctx, b, name, minHealthy, rolling, create, change)
	if err != nil {
		return err
	}
	if err := p.apply(ctx, changeOne, b.commit(b.scale.apps/2)); err != nil {
		return err
	}
	limited := func(o *setOptions) { o.rolling, o.firstMaxUpdate = true, "50%" }
	if err := p.writeSet(b.set(limited)); err != nil {
		return err
	}
	if err := p.apply(ctx, changeLimit, b.noCommit); err != nil {
		return err
	}
	return p.destroy(ctx, remove)
}

// rowsProviderTogether measures the provider all at once.
func rowsProviderTogether(ctx context.Context, b *bench) error {
	p, err := rollOut(ctx, b, providerZero, "0s", together, createTogether, changeTogether)
	if err != nil {
		return err
	}
	return p.destroy(ctx, removeTogether)
}

// rollOut creates a set and rolls a commit out.
func rollOut(ctx context.Context, b *bench, name, minHealthy string, kind func(*setOptions), create, change string) (*providerSide, error) {
	p, err := b.provider(ctx, name, minHealthy)
	if err != nil {
		return nil, err
	}
	if err := p.writeSet(b.set(kind)); err != nil {
		return nil, err
	}
	if err := p.apply(ctx, create, b.commitAll()); err != nil {
		return nil, err
	}
	return p, p.apply(ctx, change, b.commitAll())
}
