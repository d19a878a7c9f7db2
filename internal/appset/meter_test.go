package appset

import (
	"runtime"
	"strings"
	"testing"

	"github.com/Masterminds/sprig/v3"
)

func TestATemplateThatWouldNeverEndIsAnError(t *testing.T) {
	const until = "{{range until 100000}}"
	long := strings.Repeat("x", 100_000)
	for name, text := range map[string]string{
		"loops with nothing in them":        until + until + "{{end}}{{end}}",
		"a loop over a number":              "{{range 1000000000000}}{{end}}",
		"a loop that goes on":               until + until + "{{continue}}{{end}}{{end}}",
		"a loop that breaks":                until + "{{range .map}}{{break}}{{end}}{{end}}",
		"loops in templates":                `{{define "a"}}` + until + `{{end}}{{end}}` + until + `{{template "a"}}{{end}}`,
		"a template that calls itself":      `{{define "a"}}{{template "a"}}{{end}}{{template "a"}}`,
		"two templates that call another":   `{{define "a"}}{{template "b"}}{{end}}{{define "b"}}{{template "a"}}{{end}}{{template "a"}}`,
		"a template that calls it twice":    `{{define "a"}}{{if .}}{{template "a" (rest .)}}{{template "a" (rest .)}}{{end}}{{end}}{{template "a" (until 100)}}`,
		"the template itself":               `{{template "template"}}`,
		"a loop in tpl":                     `{{tpl "` + until + until + `{{end}}{{end}}" .}}`,
		"tpl in a loop":                     until + `{{tpl "{{.}}" "x"}}{{end}}`,
		"many hashes":                       until + `{{$x := sha256sum $.long}}{{end}}`,
		"a slow key":                        until + `{{$x := derivePassword 1 "long" "a" "b" "c"}}{{end}}`,
		"comparisons of long texts":         until + until + `{{if eq $.long $.other}}{{end}}{{end}}{{end}}`,
		"a regular expression that repeats": `{{regexMatch "(abcdefghijklmnopqrstuvwxyz){1000}" .long}}`,
		"a regular expression on all":       until + `{{$x := regexFindAll "(a|b|c|x)*y" $.long -1}}{{end}}`,
		"many replacements":                 `{{regexReplaceAll "x" .long .long}}`,
		"replacing with much":               `{{replace "x" .long .long}}`,
		"replacing nothing":                 `{{replace "" .long .long}}`,
		"joining with much":                 `{{until 100000 | join .long}}`,
		"wrapping with much":                `{{wrapWith 1 .long .long}}`,
		"padding":                           `{{printf "%1000000d%1000000d%1000000d" 1 2 3}}`,
		"padding by arguments":              `{{printf "%*d%*d%*d" 1000000 1 1000000 2 1000000 3}}`,
		"an argument many times":            `{{printf "` + strings.Repeat("%[1]s", 1000) + `" .long}}`,
		"each in each":                      `{{uniq (until 100000)}}`,
		"a list without many":               `{{without (until 100000) 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 96 97 98 99 100 101 102 103 104 105 106 107 108 109 110 111 112 113 114 115 116 117 118 119 120 121 122 123 124 125 126 127 128 129 130 131 132 133 134 135 136 137 138 139 140 141 142 143 144 145 146 147 148 149 150 151 152 153 154 155 156 157 158 159 160 161}}`,
		"chunks of nothing":                 `{{chunk 0 (list 1 2)}}`,
		"a map that holds itself":           `{{$d := dict}}{{$_ := set $d "a" $d}}{{$d}}`,
		"a map that is printed":             `{{$a := dict}}{{$b := dict "a" $a}}{{$_ := set $a "b" $b}}{{toJson $b}}`,
		"a map in maps in maps":             `{{$d := dict "a" "x"}}` + strings.Repeat(`{{$d = dict "a" $d "b" $d "c" $d}}`, 40) + `{{$d}}`,
		"a list that grows":                 `{{$l := list}}` + until + `{{$l = append $l $.long}}{{end}}`,
		"lists in lists":                    `{{$l := list}}` + until + `{{$l = list $l}}{{end}}{{$l}}`,
		"a map that is filled later":        `{{$c := dict}}{{$l := list}}{{range until 1000}}{{$l = append $l $c}}{{end}}{{$_ := set $c "k" .long}}{{$l}}`,
	} {
		t.Run(name, func(t *testing.T) {
			compiled, err := compileGoTemplate(text, nil)
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			out, err := compiled.render(map[string]any{"long": long, "other": "y" + long[1:], "map": manyKeys(1000)})
			runtime.ReadMemStats(&after)
			if err == nil {
				text, _ := out.(string)
				t.Errorf("it rendered %d bytes", len(text))
			}
			if grown := after.HeapSys - min(before.HeapSys, after.HeapSys); grown > 512<<20 {
				t.Errorf("it took %d MiB", grown>>20)
			}
		})
	}
}

func manyKeys(n int) map[string]any {
	out := map[string]any{}
	for i := range n {
		out[string(rune('a'+i%26))+strings.Repeat("k", i/26)] = i
	}
	return out
}

func TestCountingChangesNoResult(t *testing.T) {
	const params = "{s: abc, l: [1, a, {k: v}], m: {a: 1, b: {c: d}}, num: 3, f: 1.5, t: true, z: null, e: []}"
	for text, want := range map[string]string{
		`{{.s}}|{{.l}}|{{.m}}|{{.num}}|{{.f}}|{{.t}}|{{.e}}`:                                                                             `abc|[1 a map[k:v]]|map[a:1 b:map[c:d]]|3|1.5|true|[]`,
		`{{.z}}{{.gone}}{{.gone.gone}}`:                                                                                                  `<no value><no value><no value>`,
		`{{$_ := set .m "x" 1}}{{.z}}|{{.gone}}|{{.m.x}}|{{.s}}|{{len .l}}`:                                                              `<no value>|<no value>|1|abc|3`,
		`{{range .gone}}x{{else}}none{{end}}{{range .z}}x{{else}}none{{end}}`:                                                            `nonenone`,
		`{{range $k, $v := .m}}{{$k}}={{$v}};{{end}}`:                                                                                    `a=1;b=map[c:d];`,
		`{{range $i, $e := .l}}{{$i}}{{if eq $i 1}}{{break}}{{end}},{{end}}`:                                                             `0,1`,
		`{{range 3}}{{.}}{{end}}{{range $i := until 2}}{{$i}}{{end}}`:                                                                    `01201`,
		`{{range .l}}{{if kindIs "string" .}}{{continue}}{{end}}<{{.}}>{{end}}`:                                                          `<1><map[k:v]>`,
		`{{define "x"}}[{{.}}]{{end}}{{template "x" .s}}{{template "x"}}`:                                                                `[abc][<no value>]`,
		`{{block "y" .num}}<{{.}}>{{end}}`:                                                                                               `<3>`,
		`{{define "r"}}{{if .}}{{first .}}{{template "r" (rest .)}}{{end}}{{end}}{{template "r" .l}}`:                                    `1amap[k:v]`,
		`{{with .m}}{{with .b}}{{.c}}{{end}}{{else}}no{{end}}{{with .gone}}x{{else with $.s}}{{.}}{{end}}`:                               `dabc`,
		`{{printf "%s-%05d-%v-%q" .s 42 .l .s}}`:                                                                                         `abc-00042-[1 a map[k:v]]-"abc"`,
		`{{printf "arn:aws:iam::123456789012:role/%s" .s}}`:                                                                              `arn:aws:iam::123456789012:role/abc`,
		`{{print .s 1 2}} {{println .s}}{{html "<a>"}} {{js "'"}} {{urlquery "a b"}}`:                                                    "abc1 2 abc\n&lt;a&gt; \\' a+b",
		`{{eq .s "abc"}} {{ne .num 3.0}} {{lt 1 2}} {{and .s .num}} {{or .gone "x"}} {{not .t}} {{index .l 2 "k"}} {{len (slice .l 1)}}`: `true false true 3 x false v 2`,
		`{{tpl "{{.s}}{{range .l}}.{{end}}{{define \"q\"}}Q{{end}}{{template \"q\"}}" .}}`:                                               `abc...Q`,
		`{{osBase "/a/b.c"}} {{osDir "/a/b.c"}} {{osExt "/a/b.c"}} {{osClean "/a//b"}} {{osIsAbs "/a"}}`:                                 `b.c /a .c /a/b true`,
		`{{durationRound "2h10m5s"}} {{semverCompare "^1.2.0" "1.2.3"}} {{regexReplaceAll "a(b)" "abab" "${1}x"}}`:                       `2h true bxbx`,
		`{{$l := list}}{{range until 500}}{{$l = append $l .}}{{end}}{{len $l}}`:                                                         `500`,
		`{{(fromYaml "a: {b: 1}").a.b}} {{toYaml .m | nindent 2}}`:                                                                       "1 \n  a: 1\n  b:\n    c: d",
	} {
		got, err := renderText(t, text, params)
		if err != nil || got != want {
			t.Errorf("%s: got %q, %v; want %q", text, got, err, want)
		}
	}
}

func TestTheFunctionsThatCountCannotBeCalled(t *testing.T) {
	for _, name := range meterNames {
		if _, err := compileGoTemplate("{{"+name+"}}", nil); err == nil || !strings.Contains(err.Error(), "not defined") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := renderText(t, `{{tpl "{{`+name+`}}" .}}`, "{}"); err == nil || !strings.Contains(err.Error(), "not defined") {
			t.Errorf("tpl with %s: %v", name, err)
		}
	}
}

func TestARenderingDoesNotCountTheOneBefore(t *testing.T) {
	compiled, err := compileGoTemplate(`{{range until 20000}}{{if eq $.a "x"}}{{end}}{{end}}{{tpl "{{eq .a .a}}" .}}`, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if out, err := compiled.render(map[string]any{"a": "b"}); err != nil || out != "true" {
			t.Fatalf("got %v, %v", out, err)
		}
	}
}

// reviewed are the functions of Sprig 3.3 that depend on nothing but their arguments.
const reviewed = `abbrev abbrevboth add add1 add1f addf adler32sum all any append atoi b32dec b32enc b64dec b64enc base biggest
buildCustomCert camelcase cat ceil chunk clean coalesce compact concat contains dateModify date_modify decryptAES deepCopy
deepEqual default derivePassword dict dig dir div divf duration durationRound empty ext fail first float64 floor fromJson get
has hasKey hasPrefix hasSuffix hello indent initial initials int int64 isAbs join kebabcase keys kindIs kindOf last list lower
max maxf merge mergeOverwrite min minf mod mul mulf mustAppend mustChunk mustCompact mustDateModify mustDeepCopy mustFirst
mustFromJson mustHas mustInitial mustLast mustMerge mustMergeOverwrite mustPrepend mustPush mustRegexFind mustRegexFindAll
mustRegexMatch mustRegexReplaceAll mustRegexReplaceAllLiteral mustRegexSplit mustRest mustReverse mustSlice mustToJson
mustToPrettyJson mustToRawJson mustUniq mustWithout must_date_modify nindent nospace omit osBase osClean osDir osExt osIsAbs
pick pluck plural prepend push quote regexFind regexFindAll regexMatch regexQuoteMeta regexReplaceAll regexReplaceAllLiteral
regexSplit repeat replace rest reverse round semver semverCompare seq set sha1sum sha256sum sha512sum slice snakecase sortAlpha
split splitList splitn squote sub subf substr swapcase ternary title toDecimal toJson toPrettyJson toRawJson toString toStrings
trim trimAll trimPrefix trimSuffix trimall trunc tuple typeIs typeIsLike typeOf uniq unixEpoch unset until untilStep untitle
upper urlJoin urlParse values without wrap wrapWith`

func TestEveryFunctionOfSprigIsReviewed(t *testing.T) {
	known := map[string]bool{"env": true, "expandenv": true, "getHostByName": true} // not there in Argo CD
	for _, name := range strings.Fields(reviewed) {
		known[name] = true
	}
	for name := range sprig.GenericFuncMap() {
		if _, refused := refusedFuncs[name]; refused == known[name] {
			t.Errorf("%s: refused %v, reviewed %v", name, refused, known[name])
		}
	}
	for name := range rateByName {
		if _, ok := goTemplateFuncs[name]; !ok {
			t.Errorf("%s has a rate and does not exist", name)
		}
	}
	for name := range argumentBounds {
		if _, ok := goTemplateFuncs[name]; !ok {
			t.Errorf("%s has a bound and does not exist", name)
		}
	}
}

func TestReplacingTagsIsBoundedToo(t *testing.T) {
	tags, err := parseTags(strings.Repeat("{{a}}", 1000))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tags.render(map[string]any{"a": strings.Repeat("x", 10_000)}); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("got %v", err)
	}
	if _, err := tagText([]string{"", ""}).render(map[string]any{"": "x"}); err == nil {
		t.Error("an empty tag has a parameter")
	}
}
