package provider

import (
	"errors"
	"io"
	"sync"
)

var _ io.Closer = (*argocdprogressive)(nil)

// configured are all configurations of one process, which has one unless it serves for a debugger.
type configured struct {
	mu  sync.Mutex
	all []*ProviderData
}

func (c *configured) add(d *ProviderData) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, d)
}

// Close lets go of what was fetched to answer generators, when Terraform has ended the process's
// service. Not every system does that by itself: what comes from git is in temporary files.
func (p *argocdprogressive) Close() error {
	p.configured.mu.Lock()
	defer p.configured.mu.Unlock()
	var errs []error
	for _, d := range p.configured.all {
		errs = append(errs, d.close())
	}
	p.configured.all = nil
	return errors.Join(errs...)
}

func (d *ProviderData) close() error {
	g := &d.generation
	g.mu.Lock()
	defer g.mu.Unlock()
	var errs []error
	for _, in := range g.inputs {
		if c, ok := in.(io.Closer); ok {
			errs = append(errs, c.Close())
		}
	}
	g.inputs = nil
	return errors.Join(errs...)
}
