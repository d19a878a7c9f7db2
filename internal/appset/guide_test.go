package appset

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

var (
	guideName    = regexp.MustCompile("`([a-z_]+)`")
	guideWord    = regexp.MustCompile(`[a-z_]+`)
	guideDefault = regexp.MustCompile(`\bDefault: \S|\bRequired\b`)
	guideExample = regexp.MustCompile("\\be\\.g\\. `[^`]+`")
)

// everyEntry is the section of the guide for what several kinds have.
const everyEntry = "In every entry"

// guideTables are the rows of the tables in a guide: section -> attribute -> what is said of it. Sections and
// attributes have the names that they have in the CRD.
func guideTables(guide string) map[string]map[string]string {
	tables, section := map[string]map[string]string{}, ""
	for line := range strings.Lines(guide) {
		if title, is := strings.CutPrefix(line, "## "); is {
			section = camelCase(strings.TrimSpace(title))
			tables[section] = map[string]string{}
		}
		name, effect, is := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		if section == "" || !is || !strings.HasPrefix(name, "`") {
			continue
		}
		for _, m := range guideName.FindAllStringSubmatch(name, -1) {
			tables[section][camelCase(m[1])] = strings.TrimSuffix(strings.TrimSpace(effect), "|")
		}
	}
	return tables
}

// guideLacks compares the rows of a kind with its fields, and tells what is not said of them.
func guideLacks(rows, every map[string]string, wanted fields) []string {
	var out []string
	for _, name := range sortedKeys(wanted) {
		effect, field := rows[name], wanted[name]
		if strings.TrimSpace(effect) == "See above." {
			effect = every[name]
		}
		if effect == "" {
			out = append(out, name)
			continue
		}
		if !guideDefault.MatchString(effect) {
			out = append(out, name+": default")
		}
		if !guideExample.MatchString(effect) {
			out = append(out, name+": example")
		}
		if field.kind == kindList && field.elem.kind == kindObject {
			field = field.elem
		}
		if field == templateShape {
			continue
		}
		said := map[string]bool{}
		for _, word := range guideWord.FindAllString(effect, -1) {
			said[camelCase(word)] = true
		}
		for _, below := range sortedKeys(field.fields) {
			if !said[below] {
				out = append(out, name+"."+below)
			}
		}
	}
	for _, name := range sortedKeys(rows) {
		if wanted[name] == nil {
			out = append(out, name+" is no field")
		}
	}
	return out
}

func TestTheGuideHasARowForEveryFieldOfEveryGenerator(t *testing.T) {
	guide, err := os.ReadFile("../../templates/guides/generators.md")
	if err != nil {
		t.Fatal(err)
	}
	tables := guideTables(string(guide))
	every := fields{"selector": labelSelectorShape}
	for kind, s := range generatorShapes {
		wanted := fields{}
		for name, field := range s.fields {
			wanted[name] = field
			if name == "values" || name == "requeueAfterSeconds" || name == "template" {
				every[name] = field
			}
		}
		if kind == "list" { // see checkList
			wanted["elements"], wanted["elementsYaml"] = free(), text()
		}
		for _, lacking := range guideLacks(tables[kind], tables[everyEntry], wanted) {
			t.Errorf("section %q of the guide does not say: %s", kind, lacking)
		}
	}
	for _, lacking := range guideLacks(tables[everyEntry], nil, every) {
		t.Errorf("section %q of the guide does not say: %s", everyEntry, lacking)
	}
}

func TestWhatAGuideLacksIsFound(t *testing.T) {
	wanted := fields{"flatList": boolean(), "files": generatorShapes["git"].fields["files"], "template": templateShape}
	const whole = "| `flat_list` | All in one. Default: `false`, e.g. `true`. |\n" +
		"| `files` | List of `{ path, exclude }`. Required, e.g. `[{ path = \"x\" }]`. |\n| `template` | See above. |\n"
	for name, c := range map[string]struct{ rows, want string }{
		"all is there":      {whole, ""},
		"a row":             {strings.Replace(whole, "flat_list", "flat_lists", 1), "flatList, flatLists is no field"},
		"a default":         {strings.Replace(whole, "Default: `false`, ", "", 1), "flatList: default"},
		"an example":        {strings.Replace(whole, ", e.g. `true`", "", 1), "flatList: example"},
		"a field below":     {strings.Replace(whole, ", exclude", "", 1), "files.exclude"},
		"a row, not a cell": {strings.Replace(whole, "| `template`", "| values, `template`", 1), "template"},
	} {
		t.Run(name, func(t *testing.T) {
			tables := guideTables("# Guide\n\n## every_one\n\n" + c.rows)
			every := map[string]string{"template": "Fields. Default: none, e.g. `{}`."}
			if got := strings.Join(guideLacks(tables["everyOne"], every, wanted), ", "); got != c.want {
				t.Errorf("it lacks %q, not %q", got, c.want)
			}
		})
	}
}
