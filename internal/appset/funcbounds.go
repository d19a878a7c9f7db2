package appset

import (
	"errors"
	"fmt"
	"reflect"
	"regexp/syntax"
	"strings"
	"text/template"
)

const (
	// defaultRate is how many bytes of its arguments a function handles in one unit of work.
	defaultRate = 1024
	// maxParsed is how long a text may be that a function reads as YAML or JSON, in bytes: what comes
	// out is a hundred times as large.
	maxParsed = 512 << 10
	// maxPattern is how long a regular expression may be, in bytes, and maxProgram how many instructions.
	maxPattern = 4096
	maxProgram = 20_000
)

// rates are the functions that are slower than most: bytes per unit of work.
var rates = map[int]string{
	8:  "toYaml fromYaml fromYamlArray normalize slugify semver semverCompare",
	16: "merge mergeOverwrite mustMerge mustMergeOverwrite deepCopy mustDeepCopy",
	32: "toJson toPrettyJson toRawJson fromJson mustToJson mustToPrettyJson mustToRawJson mustFromJson " +
		"title initials swapcase camelcase snakecase kebabcase untitle nospace wrap wrapWith plural urlParse urlJoin",
	64: "quote squote cat join toString toStrings print printf println html js urlquery sortAlpha deepEqual keys values pick " +
		"omit pluck compact mustCompact append mustAppend push mustPush prepend mustPrepend reverse mustReverse concat " +
		"initial mustInitial rest mustRest chunk mustChunk slice mustSlice list tuple dict buildCustomCert",
}

var rateByName = func() map[string]int {
	out := map[string]int{}
	for rate, names := range rates {
		for _, name := range strings.Fields(names) {
			out[name] = rate
		}
	}
	return out
}()

func rateOf(name string) int {
	if rate, ok := rateByName[name]; ok {
		return rate
	}
	return defaultRate
}

// argumentBound looks at the arguments of a function before it is called, as reflect hands them
// over: those behind "..." are one list. It returns how many units of work they take beside their
// size, or why they cannot be taken.
type argumentBound func(args []reflect.Value) (int, error)

// argumentBounds are those of functions whose work or result does not go by the size of their
// arguments alone.
var argumentBounds = func() map[string]argumentBound {
	out := map[string]argumentBound{
		"replace": func(args []reflect.Value) (int, error) {
			old, by, in := args[0].String(), args[1].String(), args[2].String()
			return within(len(in) + strings.Count(in, old)*len(by))
		},
		"join": func(args []reflect.Value) (int, error) {
			return within(args[0].Len() * lengthOf(args[1]))
		},
		"wrapWith": func(args []reflect.Value) (int, error) {
			return within((args[2].Len()/max(1, int(args[0].Int())) + 1) * args[1].Len())
		},
		"split":  func(args []reflect.Value) (int, error) { return parts(args[0], args[1]) },
		"splitn": func(args []reflect.Value) (int, error) { return parts(args[0], args[2]) },
		"printf": boundPrintf,
		// scrypt takes a tenth of a second and 32 MiB.
		"derivePassword": func([]reflect.Value) (int, error) { return maxWork/3 + 1, nil },
	}
	for _, name := range []string{"uniq", "mustUniq"} {
		out[name] = func(args []reflect.Value) (int, error) { return times(lengthOf(args[0]), lengthOf(args[0])), nil }
	}
	for _, name := range []string{"without", "mustWithout"} {
		out[name] = func(args []reflect.Value) (int, error) { return times(lengthOf(args[0]), args[1].Len()), nil }
	}
	for _, name := range []string{"addf", "subf", "mulf", "divf"} {
		out[name] = func(args []reflect.Value) (int, error) { n := args[len(args)-1].Len(); return times(n, 4*n), nil }
	}
	for _, name := range []string{"fromYaml", "fromYamlArray", "fromJson", "mustFromJson"} {
		out[name] = func(args []reflect.Value) (int, error) {
			if args[0].Len() > maxParsed {
				return 0, fmt.Errorf("reads at most %d bytes", maxParsed)
			}
			return 0, nil
		}
	}
	for _, name := range []string{"chunk", "mustChunk"} {
		out[name] = func(args []reflect.Value) (int, error) {
			if args[0].Int() < 1 {
				return 0, fmt.Errorf("takes a size of at least 1, but got %d", args[0].Int())
			}
			return 0, nil
		}
	}
	for _, name := range []string{"regexMatch", "regexFind", "regexFindAll", "regexSplit", "regexReplaceAll", "regexReplaceAllLiteral"} {
		out[name], out["mustR"+name[1:]] = boundRegex, boundRegex
		if strings.HasPrefix(name, "regexReplace") {
			out[name], out["mustR"+name[1:]] = boundRegexReplace, boundRegexReplace
		}
	}
	return out
}()

// within allows a result of so many bytes.
func within(size int) (int, error) {
	if size > maxRendered || size < 0 {
		return 0, limit("its result would be longer than %d bytes, more than Kubernetes stores", maxRendered)
	}
	return size / defaultRate, nil
}

// times is the work of comparing each with each.
func times(a, b int) int {
	if a > maxListed || b > maxListed {
		return maxWork
	}
	return a * b / 16
}

func parts(separator, text reflect.Value) (int, error) {
	n := strings.Count(text.String(), separator.String())
	if n > maxListed {
		return 0, fmt.Errorf("gives %d parts, too many for a template", n+1)
	}
	return n / 8, nil
}

// lengthOf is that of a list; anything else counts as one.
func lengthOf(v reflect.Value) int {
	for v.Kind() == reflect.Interface && !v.IsNil() {
		v = v.Elem()
	}
	if v.Kind() == reflect.Slice || v.Kind() == reflect.Array {
		return v.Len()
	}
	return 1
}

// boundPrintf adds up what a format can print: its arguments, and what it pads them with.
func boundPrintf(args []reflect.Value) (int, error) {
	format, values := args[0].String(), args[1]
	p := paddingOf(format)
	total, largest, widest := 0, 0, 0
	for i := range values.Len() {
		v := values.Index(i)
		weight, err := weigh(v, maxRendered, maxDepth)
		if err != nil {
			return 0, err
		}
		total, largest = total+weight, max(largest, weight)
		if n, ok := v.Interface().(int); ok {
			widest = max(widest, min(n, mostPadding), min(-n, mostPadding))
		}
	}
	if p.indexed {
		total = p.verbs * largest // an argument may be printed several times
	}
	if p.fromArguments {
		total += p.verbs * widest
	}
	return within(len(format) + p.total + total)
}

// mostPadding is how far package fmt pads at most.
const mostPadding = 1_000_000

// padding is what the verbs of a format say about widths and precisions.
type padding struct {
	verbs, total           int
	indexed, fromArguments bool
}

func paddingOf(format string) padding {
	var p padding
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			continue
		}
		p.verbs++
		number, index := 0, false
		for i++; i < len(format) && strings.IndexByte("+-# 0123456789.*[]", format[i]) >= 0; i++ {
			switch c := format[i]; {
			case c == '[':
				index, p.indexed = true, true
			case c == ']':
				index = false
			case c == '*':
				p.fromArguments = true
			case c >= '0' && c <= '9' && !index:
				number = min(number*10+int(c-'0'), mostPadding)
			case c == '.':
				p.total, number = p.total+number, 0
			}
		}
		p.total += number
	}
	return p
}

// boundRegex counts the instructions of a regular expression: each may look at each byte.
func boundRegex(args []reflect.Value) (int, error) {
	pattern := args[0].String()
	if len(pattern) > maxPattern {
		return 0, fmt.Errorf("takes a regular expression of at most %d bytes", maxPattern)
	}
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0, nil // the function says so itself
	}
	size := programSize(re)
	if size > maxProgram {
		return 0, errors.New("takes a regular expression with less repetition in it")
	}
	return size * (args[1].Len() + 64) / 64, nil
}

func boundRegexReplace(args []reflect.Value) (int, error) {
	units, err := boundRegex(args)
	if err != nil {
		return 0, err
	}
	more, err := within((args[1].Len() + 1) * args[2].Len() / 16)
	return units + more, err
}

// programSize estimates how many instructions an expression has once its repetitions are written out.
func programSize(re *syntax.Regexp) int {
	size := 1 + len(re.Rune)
	for _, sub := range re.Sub {
		size += programSize(sub)
	}
	if re.Op == syntax.OpRepeat {
		size *= max(1, re.Min, re.Max)
	}
	return min(size, maxProgram+1)
}

// countedBuiltins are functions of text/template itself that print: as functions of ours they can
// be counted.
func countedBuiltins(funcs template.FuncMap) {
	funcs["print"], funcs["printf"], funcs["println"] = fmt.Sprint, fmt.Sprintf, fmt.Sprintln
	funcs["html"], funcs["js"], funcs["urlquery"] = template.HTMLEscaper, template.JSEscaper, template.URLQueryEscaper
}
