package appset

import (
	"fmt"
	"reflect"
	"text/template"
)

// A template is a program, and one that is wrong must not hold up a plan or fill the memory of the
// machine. So its work is counted, one unit for about a microsecond: the plan and the apply, and two
// machines, stop it at the same place, which they would not do by the clock.
const (
	// maxWork is how many units one rendering of one text may take.
	maxWork = 300_000
	// maxMade is how many bytes all functions may return in one rendering together.
	maxMade = 128 << 20
	// maxWeight is how large a single value may be, in bytes, counted as printed: what stands in it
	// twice counts twice.
	maxWeight = 32 << 20
	// maxDepth is how deep objects and lists may be nested.
	maxDepth = 100
	// maxCalls is how deep templates may call each other.
	maxCalls = 500
)

// limitError stops a template that takes too much.
type limitError struct{ text string }

func (e *limitError) Error() string { return e.text }

func limit(format string, args ...any) error {
	return &limitError{fmt.Sprintf(format, args...)}
}

// meter counts what one rendering takes.
type meter struct {
	work, made, calls int
	// comparisons is how many comparisons and look-ups stand in the template, and largest the longest
	// string so far: they cost as much as the strings are long, and cannot be counted themselves.
	comparisons, largest int
}

func (m *meter) reset() { m.work, m.made, m.calls, m.largest = 0, 0, 0, 0 }

func (m *meter) charge(units int) error {
	if m.work += units; m.work > maxWork || units < 0 {
		return limit("it takes too long: a loop in it runs too often, or handles too much")
	}
	return nil
}

// tick stands in every round of a loop, see instrument.
func (m *meter) tick() (string, error) {
	return "", m.charge(1 + m.comparisons*(m.largest>>14))
}

// enter and leave stand around a template that others call, see instrument.
func (m *meter) enter() (string, error) {
	if m.calls++; m.calls > maxCalls {
		return "", limit("its templates call each other more than %d deep", maxCalls)
	}
	return m.tick()
}

func (m *meter) leave() string {
	m.calls--
	return ""
}

// look passes a value on that is about to be printed or looped over.
func (m *meter) look(v any) (any, error) {
	weight, err := weigh(reflect.ValueOf(v), maxWeight, maxDepth)
	if err == nil {
		err = m.charge(1 + weight/256)
	}
	return v, err
}

// wrap returns a function of the same type that is counted. Most functions of Sprig return no
// error, so a limit is a panic; text/template turns it back into the error.
func (m *meter) wrap(name string, fn any) any {
	f := reflect.ValueOf(fn)
	rate, bound := rateOf(name), argumentBounds[name]
	call := f.Call
	if f.Type().IsVariadic() {
		call = f.CallSlice
	}
	return reflect.MakeFunc(f.Type(), func(args []reflect.Value) []reflect.Value {
		units, weight := 1, 0
		for _, arg := range args {
			weight += m.weighed(arg)
		}
		if bound != nil {
			more, err := bound(args)
			if err != nil {
				panic(fmt.Errorf("%s %w", name, err))
			}
			units += more
		}
		if err := m.charge(units + weight/rate); err != nil {
			panic(err)
		}
		results := call(args)
		if m.made += m.weighed(results[0]); m.made > maxMade {
			panic(limit("it takes too much memory: its functions return more than %d bytes together", maxMade))
		}
		return results
	}).Interface()
}

func (m *meter) weighed(v reflect.Value) int {
	s := scale{most: maxWeight}
	s.add(v, maxDepth)
	if s.err != nil {
		panic(s.err)
	}
	m.largest = max(m.largest, s.longest)
	return s.weight
}

// weigh is the size of a value in bytes, more or less. It ends also on a map that holds itself,
// which the function set can make.
func weigh(v reflect.Value, most, depth int) (int, error) {
	s := scale{most: most}
	s.add(v, depth)
	return s.weight, s.err
}

type scale struct {
	weight, most int
	// longest is the length of the longest string.
	longest int
	err     error
}

// What a text, an entry of a list, an object and an entry of it weigh beside their content.
const (
	textWeight   = 16
	entryWeight  = 16
	objectWeight = 48
	fieldWeight  = 32
)

func (s *scale) add(v reflect.Value, depth int) {
	switch {
	case s.err != nil:
		return
	case depth < 0:
		s.err = limit("a value in it is nested more than %d deep", maxDepth)
		return
	}
	switch v.Kind() {
	case reflect.String:
		s.longest = max(s.longest, v.Len())
		s.grow(textWeight + v.Len())
	case reflect.Interface, reflect.Pointer:
		if !v.IsNil() && v.Elem().Kind() != reflect.Struct {
			s.add(v.Elem(), depth)
		}
	case reflect.Map:
		s.grow(objectWeight)
		for entries := v.MapRange(); s.err == nil && entries.Next(); {
			s.grow(fieldWeight)
			s.add(entries.Key(), depth-1)
			s.add(entries.Value(), depth-1)
		}
	case reflect.Slice, reflect.Array:
		s.addList(v, depth)
	default:
		s.grow(8)
	}
}

func (s *scale) addList(v reflect.Value, depth int) {
	switch v.Type().Elem().Kind() {
	case reflect.Interface, reflect.String, reflect.Map, reflect.Slice, reflect.Array, reflect.Pointer:
		for i := 0; s.err == nil && i < v.Len(); i++ {
			s.grow(entryWeight)
			s.add(v.Index(i), depth-1)
		}
	default:
		s.grow(v.Len() * int(v.Type().Elem().Size()))
	}
}

func (s *scale) grow(n int) {
	if s.weight += n; s.weight > s.most && s.err == nil {
		s.err = limit("a value in it is larger than %d bytes", s.most)
	}
}

// funcs are the counted forms of the functions named, of all if tpl is among them: what it renders
// may call any.
func (m *meter) funcs(names []string) template.FuncMap {
	out := template.FuncMap{tickName: m.tick, enterName: m.enter, leaveName: m.leave, lookName: m.look}
	for _, name := range names {
		if name == "tpl" {
			for name, fn := range goTemplateFuncs {
				out[name] = m.wrap(name, fn)
			}
			return out
		}
		if fn, ok := goTemplateFuncs[name]; ok {
			out[name] = m.wrap(name, fn)
		}
	}
	return out
}
