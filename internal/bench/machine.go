package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

const (
	// ticks is how the kernel counts CPU time, per second (USER_HZ on Linux).
	ticks = 100
	// quiet is how many cores other work may use when a row begins.
	quiet = 0.3
	// quietSample is how long that is looked at.
	quietSample = 3 * time.Second
)

// cpu is CPU time since the system has started: of everything, and of what belongs to this
// command (all processes of its session, ended ones included).
type cpu struct {
	at       time.Time
	all, own float64 // in seconds
}

// others is how many cores other work has used on average between two times.
func (c cpu) others(before cpu) float64 {
	elapsed := c.at.Sub(before.at).Seconds()
	if elapsed <= 0 {
		return 0
	}
	// What an own process has used, whose end nobody waits for, looks like the work of others.
	return min(max(0, (c.all-before.all)-(c.own-before.own))/elapsed, float64(runtime.NumCPU()))
}

// process is what the line in /proc/PID/stat tells.
type process struct {
	parent, session int
	cpu             float64 // with its ended children, in seconds
}

// parseStat reads a line of /proc/PID/stat (proc_pid_stat(5)). The name of the program, in
// parentheses, may contain anything.
func parseStat(line string) (p process, ok bool) {
	end := strings.LastIndexByte(line, ')')
	if end < 0 {
		return p, false
	}
	fields := strings.Fields(line[end+1:]) // from field 3 on
	if len(fields) < 15 {
		return p, false
	}
	number := func(field int) float64 {
		n, _ := strconv.ParseFloat(fields[field-3], 64)
		return n
	}
	p.parent, p.session = int(number(4)), int(number(6))
	for field := 14; field <= 17; field++ {
		p.cpu += number(field) / ticks
	}
	return p, true
}

// parseBusy reads the first line of /proc/stat: the CPU time that was not idle, in seconds.
func parseBusy(stat string) (float64, error) {
	line, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0, fmt.Errorf("the first line of /proc/stat is %q", line)
	}
	busy := 0.0
	for i, field := range fields[1:9] { // user nice system idle iowait irq softirq steal
		n, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return 0, err
		}
		if i != 3 && i != 4 {
			busy += n / ticks
		}
	}
	return busy, nil
}

// readCPU returns false where the system does not tell (anything but Linux).
func readCPU() (cpu, bool) {
	c := cpu{at: time.Now()}
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return c, false
	}
	if c.all, err = parseBusy(string(stat)); err != nil {
		return c, false
	}
	self, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return c, false
	}
	own, ok := parseStat(string(self))
	if !ok {
		return c, false
	}
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return c, false
	}
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		if p, ok := parseStat(string(line)); ok && p.session == own.session {
			c.own += p.cpu
		}
	}
	return c, true
}

// loadAverage is that of the last minute, in words.
func loadAverage() string {
	content, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(content), " ")
	return first
}

// awaitQuiet waits until other work uses little of the machine, at most limit. It never fails but
// by the end of ctx: how much there was is told with each figure.
func awaitQuiet(ctx context.Context, limit time.Duration, progress io.Writer) error {
	deadline, told := time.Now().Add(limit), false
	for {
		before, ok := readCPU()
		if !ok {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(quietSample):
		}
		after, _ := readCPU()
		others := after.others(before)
		if others <= quiet || time.Now().After(deadline) {
			return nil
		}
		if !told {
			fmt.Fprintf(progress, "bench: other work uses %.1f of %d cores; waiting, at most %s\n", others, runtime.NumCPU(), limit)
			told = true
		}
	}
}
