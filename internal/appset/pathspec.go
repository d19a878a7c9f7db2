package appset

import (
	"errors"
	"fmt"
	"path"
	"strings"
)

// pathspec is a pattern of files as `git ls-files -- PATTERN` reads it: that is what Argo CD asks for
// the files of a generator (LsFiles in util/git/client.go, Argo CD 3.6.1; match_pathspec_item in dir.c of git).
type pathspec struct {
	text    string
	exclude bool
	// plain is how much of the text, from its start, holds no wildcard.
	plain int
}

func pathspecs(patterns []gitPattern, at Path, issues *Issues) []pathspec {
	var out []pathspec
	for i, p := range patterns {
		spec, err := parsePathspec(p.Path)
		if err != nil {
			issues.fail(at.With(i, "path"), SummaryInvalidGenerator, fmt.Sprintf("%q is not a pattern of files: %s.", p.Path, err))
			continue
		}
		spec.exclude = p.Exclude
		out = append(out, spec)
	}
	return out
}

// parsePathspec normalizes a pattern; "" and "." stand for all files.
func parsePathspec(text string) (pathspec, error) {
	if strings.HasPrefix(text, ":") {
		return pathspec{}, errors.New("it starts with \":\", which has a special meaning for git that this provider does not support")
	}
	if strings.HasPrefix(text, "/") {
		return pathspec{}, errors.New("it starts with \"/\"; paths are relative to the root of the repository")
	}
	if strings.ContainsRune(text, 0) {
		return pathspec{}, errors.New("it holds a NUL")
	}
	clean := path.Clean(text)
	if clean == ".." || strings.HasPrefix(clean, "../") {
		return pathspec{}, errors.New("it leads out of the repository")
	}
	if clean == "." {
		return pathspec{}, nil
	}
	if last := text[strings.LastIndex(text, "/")+1:]; last == "" || last == "." || last == ".." {
		clean += "/"
	}
	out := pathspec{text: clean, plain: strings.IndexAny(clean, `*?[\`)}
	if out.plain < 0 {
		out.plain = len(clean)
	}
	return out, nil
}

// matches reports whether a file is the one that is named, is below it, or matches as a whole; there,
// wildcards match "/" as well.
func (p pathspec) matches(name string) bool {
	if p.text == "" {
		return true
	}
	if rest, ok := strings.CutPrefix(name, p.text); ok && (rest == "" || rest[0] == '/' || p.text[len(p.text)-1] == '/') {
		return true
	}
	if p.plain == len(p.text) || !strings.HasPrefix(name, p.text[:p.plain]) {
		return false
	}
	return wildmatch(p.text[p.plain:], name[p.plain:])
}

// selected reports whether some pattern includes the file and none excludes it.
func selected(specs []pathspec, name string) bool {
	included := false
	for _, p := range specs {
		if included && !p.exclude || !p.matches(name) {
			continue
		}
		if p.exclude {
			return false
		}
		included = true
	}
	return included
}

// wildmatch matches a whole text against a pattern of *, ?, [classes] and \escapes. It goes back
// to the last star only, so that its time is bounded by the product of the lengths.
func wildmatch(pattern, text string) bool {
	p, t := 0, 0
	star, from := -1, 0
	for t < len(text) {
		size, ok := 0, false
		if p < len(pattern) {
			if pattern[p] == '*' {
				star, from = p, t
				p++
				continue
			}
			if size, ok = matchOne(pattern[p:], text[t]); size < 0 {
				return false // no text at all matches a broken class
			}
		}
		switch {
		case ok:
			p += size
			t++
		case star >= 0:
			from++
			p, t = star+1, from
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// matchOne matches one byte against the start of a pattern and returns the length of that start; -1
// for a class that has no end.
func matchOne(pattern string, c byte) (int, bool) {
	switch pattern[0] {
	case '?':
		return 1, true
	case '\\':
		if len(pattern) == 1 {
			return 1, false
		}
		return 2, pattern[1] == c
	case '[':
		return matchClass(pattern, c)
	}
	return 1, pattern[0] == c
}

// matchClass matches a byte against [a-z], [!a], [^a], [[:alpha:]].
func matchClass(pattern string, c byte) (int, bool) {
	i := 1
	negated := i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^')
	if negated {
		i++
	}
	matched := false
	for first := true; ; first = false {
		if i >= len(pattern) {
			return -1, false
		}
		switch {
		case pattern[i] == ']' && !first:
			return i + 1, matched != negated
		case strings.HasPrefix(pattern[i:], "[:"):
			end := strings.Index(pattern[i+2:], "]")
			if end < 0 {
				return -1, false
			}
			name, isClass := strings.CutSuffix(pattern[i+2:i+2+end], ":")
			if !isClass { // not the name of a class: "[" stands for itself
				matched = matched || c == '['
				i++
				continue
			}
			in, known := classes[name]
			if !known {
				return -1, false
			}
			matched = matched || in(c)
			i += 2 + end + 1
		default:
			var low, high byte
			if low, i = classByte(pattern, i); i < 0 {
				return -1, false
			}
			high = low
			if i+1 < len(pattern) && pattern[i] == '-' && pattern[i+1] != ']' {
				if high, i = classByte(pattern, i+1); i < 0 {
					return -1, false
				}
			}
			matched = matched || c == low || low <= c && c <= high
		}
	}
}

// classByte reads one byte of a class, maybe escaped, and where the next one starts; -1 at the end.
func classByte(pattern string, i int) (byte, int) {
	if pattern[i] == '\\' {
		i++
	}
	if i >= len(pattern) {
		return 0, -1
	}
	return pattern[i], i + 1
}

var classes = map[string]func(c byte) bool{
	"alnum":  func(c byte) bool { return isAlpha(c) || isDigit(c) },
	"alpha":  isAlpha,
	"blank":  func(c byte) bool { return c == ' ' || c == '\t' },
	"cntrl":  func(c byte) bool { return c < 32 || c == 127 },
	"digit":  isDigit,
	"graph":  func(c byte) bool { return c > 32 && c < 127 },
	"lower":  func(c byte) bool { return 'a' <= c && c <= 'z' },
	"print":  func(c byte) bool { return c >= 32 && c < 127 },
	"punct":  func(c byte) bool { return c > 32 && c < 127 && !isAlpha(c) && !isDigit(c) },
	"space":  func(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' },
	"upper":  func(c byte) bool { return 'A' <= c && c <= 'Z' },
	"xdigit": func(c byte) bool { return isDigit(c) || 'a' <= c|32 && c|32 <= 'f' },
}

func isAlpha(c byte) bool { return 'a' <= c|32 && c|32 <= 'z' }
func isDigit(c byte) bool { return '0' <= c && c <= '9' }
