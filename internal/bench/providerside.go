package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// providerSide is the provider with one configuration.
type providerSide struct {
	*bench
	*workspace
	name string
}

// provider makes a workspace whose provider reaches the API server through the proxy.
func (b *bench) provider(ctx context.Context, name, minHealthy string) (*providerSide, error) {
	config, err := configuration(b.proxy.url, b.namespace(), minHealthy)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(b.dir, "terraform", strings.Map(onlyLetters, name+b.scale.String()))
	w, err := newWorkspace(ctx, dir, b.plugins(), config)
	if err != nil {
		return nil, err
	}
	return &providerSide{bench: b, workspace: w, name: name}, nil
}

func onlyLetters(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
		return r
	}
	return -1
}

// apply measures terraform apply.
func (p *providerSide) apply(ctx context.Context, what string, commit commit) error {
	return p.measure(ctx, what, p.name, commit, func(ctx context.Context, r *result) error {
		return p.terraform(ctx, r, "apply")
	})
}

// destroy measures terraform destroy, and makes sure that it has left nothing.
func (p *providerSide) destroy(ctx context.Context, what string) error {
	err := p.measure(ctx, what, p.name, p.noCommit, func(ctx context.Context, r *result) error {
		return p.terraform(ctx, r, "destroy")
	})
	if err != nil {
		return err
	}
	if err := p.recorder.until(ctx, time.Minute, 0, "gone", isGone); err != nil {
		return err
	}
	return p.countLeft(ctx)
}

// terraform runs one command that plans and applies, and tells one from the other by the line
// that Terraform prints between them.
func (p *providerSide) terraform(ctx context.Context, r *result, command string) error {
	var failed error
	_, err := p.run(ctx, func(line string) {
		if !strings.HasPrefix(line, "Plan: ") || !r.planned.IsZero() {
			return
		}
		r.planned, r.plan = time.Now(), p.proxy.take()
		r.countedApply, failed = p.scraper.read(ctx)
	}, command, "-auto-approve")
	r.ended = time.Now()
	switch {
	case err != nil:
		return err
	case failed != nil:
		return failed
	case r.planned.IsZero():
		return fmt.Errorf("terraform %s has found nothing to do", command)
	}
	r.apply = p.proxy.take()
	// The watch of this process may be a moment behind.
	if command == "destroy" {
		return nil
	}
	return p.recorder.until(ctx, 10*time.Second, p.scale.apps, "at rest", isAtRest)
}
