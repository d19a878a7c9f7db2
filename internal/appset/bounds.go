package appset

import (
	"fmt"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
)

// A template may be wrong in a way that fills the memory of the machine that plans. etcd keeps no
// object above 1.5 MiB, so larger results are of no use to anybody.
const (
	// maxRendered is how long the result of one template may be, in bytes.
	maxRendered = 2 << 20
	// maxRenderedTogether is how much all Applications of a set may have, in bytes about.
	maxRenderedTogether = 256 << 20
	// maxListed is how many elements a counting function may give.
	maxListed = 100_000
)

// boundedBuilder collects the output of a template and refuses more than maxRendered.
type boundedBuilder struct{ strings.Builder }

func (b *boundedBuilder) Write(p []byte) (int, error) {
	if err := b.room(len(p)); err != nil {
		return 0, err
	}
	return b.Builder.Write(p)
}

// WriteString is Write without a copy of the text.
func (b *boundedBuilder) WriteString(s string) (int, error) {
	if err := b.room(len(s)); err != nil {
		return 0, err
	}
	return b.Builder.WriteString(s)
}

func (b *boundedBuilder) room(n int) error {
	if b.Len()+n > maxRendered {
		return limit("its result is longer than %d bytes, more than Kubernetes stores", maxRendered)
	}
	return nil
}

// boundFuncs puts bounds on the functions of Sprig whose result grows with the value of a number.
func boundFuncs(funcs template.FuncMap) {
	until := funcs["until"].(func(int) []int)
	funcs["until"] = func(count int) ([]int, error) {
		if count > maxListed || count < -maxListed {
			return nil, tooMany("until", count)
		}
		return until(count), nil
	}
	untilStep := funcs["untilStep"].(func(int, int, int) []int)
	funcs["untilStep"] = func(start, stop, step int) ([]int, error) {
		if step != 0 && (stop-start)/step > maxListed {
			return nil, tooMany("untilStep", (stop-start)/step)
		}
		return untilStep(start, stop, step), nil
	}
	seq := funcs["seq"].(func(...int) string)
	funcs["seq"] = func(params ...int) (string, error) {
		for _, p := range params {
			if p > maxListed || p < -maxListed {
				return "", tooMany("seq", p)
			}
		}
		return seq(params...), nil
	}
	repeat := funcs["repeat"].(func(int, string) string)
	funcs["repeat"] = func(count int, text string) (string, error) {
		if count < 0 {
			return "", fmt.Errorf("repeat takes a number that is not negative, but got %d", count)
		}
		if len(text) > 0 && count > maxRendered/len(text) {
			return "", tooMany("repeat", count)
		}
		return repeat(count, text), nil
	}
	for _, name := range []string{"indent", "nindent"} {
		indent := sprig.GenericFuncMap()[name].(func(int, string) string)
		funcs[name] = func(spaces int, text string) (string, error) {
			if spaces < 0 {
				return "", fmt.Errorf("%s takes a number that is not negative, but got %d", name, spaces)
			}
			if spaces > maxRendered/(strings.Count(text, "\n")+1) {
				return "", tooMany(name, spaces)
			}
			return indent(spaces, text), nil
		}
	}
}

func tooMany(function string, n int) error {
	return fmt.Errorf("%s of %d is too much for a template", function, n)
}
