package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// cost is what something takes of the machine.
type cost struct {
	apps int
	// cpu is that of the provider's process, or of the run of the engine.
	cpu time.Duration
	// memory is the most that the provider's process held, in bytes; zero if not measured.
	memory int64
	// terraform is the CPU time of Terraform itself.
	terraform time.Duration
	// bytes and allocs are what was allocated in all; zero if not measured.
	bytes, allocs int64
	// gap is the longest time from the last event of a step to the first write of the next.
	gap time.Duration
}

const (
	planOfSpec     = "plan, spec in HCL"
	planOfManifest = "plan, manifest"
	planTimeout    = 5 * time.Minute
	// planRuns is how often a plan is measured; the median counts.
	planRuns = 3
	// attachTimeout is how long the provider may take to start.
	attachTimeout = 30 * time.Second
)

// specShare is how much smaller the plan of a spec is: terraform-plugin-framework (1.19) visits
// each value of an attribute with a log line, in a context nested in that of the value before, so
// that its time grows with the square of the elements (hashicorp/terraform-plugin-framework#721).
// A manifest is one value to it.
const specShare = 10

// rowsPlan measures `terraform plan` of many Applications that do not exist yet: rendering,
// validation and waves. The set comes as a manifest, and a smaller one as attributes.
func rowsPlan(ctx context.Context, b *bench) error {
	for _, plan := range []struct {
		what string
		apps int
	}{{planOfManifest, b.options.planApps}, {planOfSpec, max(b.scale.steps, b.options.planApps/specShare)}} {
		what := plan.what
		set := applicationSet(b.namespace(), b.repo.URL(), setOptions{apps: plan.apps, steps: b.scale.steps, rolling: true})
		if err := awaitQuiet(ctx, b.options.wait, b.progress); err != nil {
			return err
		}
		b.say("%s of %d Applications", what, plan.apps)
		var runs []*cost
		for range planRuns {
			c, err := b.measurePlan(ctx, what, set, plan.apps)
			if err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
			runs = append(runs, c)
		}
		c := medianCost(runs)
		b.results = append(b.results, result{what: what, side: providerDefault, cost: c})
		b.say("  %.1f s of CPU, %d MiB", c.cpu.Seconds(), c.memory>>20)
	}
	return nil
}

// medianCost is the run of the median CPU time, with the most memory that any of them has held.
func medianCost(runs []*cost) *cost {
	slices.SortFunc(runs, func(a, b *cost) int { return cmp.Compare(a.cpu, b.cpu) })
	c := *runs[(len(runs)-1)/2]
	for _, run := range runs {
		c.memory = max(c.memory, run.memory)
	}
	return &c
}

func (b *bench) measurePlan(ctx context.Context, what string, set map[string]any, apps int) (_ *cost, err error) {
	ctx, cancel := within(ctx, planTimeout, what)
	defer cancel()
	config, err := configuration(b.proxy.url, b.namespace(), "")
	if err == nil && what == planOfSpec {
		config, err = withSpec(config, set)
	}
	if err != nil {
		return nil, err
	}
	w, err := newWorkspace(ctx, filepath.Join(b.dir, "terraform", strings.Map(onlyLetters, what)), b.plugins(), config)
	if err != nil {
		return nil, err
	}
	if err := w.writeSet(set); err != nil {
		return nil, err
	}
	provider, err := attach(ctx, providerBinary(b.plugins()), w.env)
	if err != nil {
		return nil, err
	}
	w.env = append(w.env, provider.variable)
	state, err := w.run(ctx, nil, "plan")
	ended, stopErr := provider.stop()
	if err := errors.Join(err, stopErr); err != nil {
		return nil, err
	}
	return &cost{
		apps: apps, cpu: ended.UserTime() + ended.SystemTime(), memory: maxMemory(ended),
		terraform: state.UserTime() + state.SystemTime(),
	}, nil
}

// withSpec replaces the manifest by the same as attributes. The keys of what is measured differ
// only in case.
func withSpec(config []byte, set map[string]any) ([]byte, error) {
	var c map[string]any
	if err := json.Unmarshal(config, &c); err != nil {
		return nil, err
	}
	resources := c["resource"].(map[string]any)["argocdprogressive_applicationset"].(map[string]any)
	resource := resources[setName].(map[string]any)
	delete(resource, "manifest")
	resource["spec"] = snakeCase(set["spec"])
	return json.MarshalIndent(c, "", "  ")
}

// snakeCase renames all keys of the spec that are camelCase. The keys of generator elements and
// labels here are not.
func snakeCase(v any) any {
	switch v := v.(type) {
	case map[string]any:
		renamed := make(map[string]any, len(v))
		for key, value := range v {
			renamed[snake(key)] = snakeCase(value)
		}
		return renamed
	case []any:
		renamed := make([]any, len(v))
		for i := range v {
			renamed[i] = snakeCase(v[i])
		}
		return renamed
	}
	return v
}

func snake(key string) string {
	var b strings.Builder
	for _, r := range strings.ReplaceAll(key, "URL", "Url") {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// attached is a provider that runs beside Terraform, so that what it takes can be told from what
// Terraform takes.
type attached struct {
	cmd      *exec.Cmd
	variable string
}

// attach starts the provider, which prints how Terraform finds it.
func attach(ctx context.Context, binary string, env []string) (*attached, error) {
	cmd := exec.CommandContext(ctx, binary, "-debug")
	cmd.Env = env
	interruptible(cmd)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	timer := time.AfterFunc(attachTimeout, func() { _ = cmd.Process.Kill() }) // it is waited for below
	defer timer.Stop()
	var said strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if value, ok := strings.CutPrefix(strings.TrimSpace(lines.Text()), "TF_REATTACH_PROVIDERS="); ok {
			return &attached{cmd: cmd, variable: "TF_REATTACH_PROVIDERS=" + strings.Trim(value, "'")}, nil
		}
	}
	return nil, fmt.Errorf("the provider does not start: %w\n%s", errors.Join(cmd.Wait(), context.Cause(ctx)), said.String())
}

// stop ends the provider. Its exit code tells nothing.
func (a *attached) stop() (*os.ProcessState, error) {
	if err := a.cmd.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return nil, err
	}
	timer := time.AfterFunc(attachTimeout, func() { _ = a.cmd.Process.Kill() }) // it is waited for below
	defer timer.Stop()
	var exit *exec.ExitError
	if err := a.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	return a.cmd.ProcessState, nil
}

// maxMemory is the largest resident set of a process that has ended, in bytes.
func maxMemory(state *os.ProcessState) int64 {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return usage.Maxrss
	}
	return usage.Maxrss * 1024
}
