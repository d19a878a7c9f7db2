package acceptance

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// chapter is one rollout of the guestbook's story, by the outputs that tell of it.
type chapter struct {
	outputs []string
	// fails: it ends with an error, so nothing tells where it has brought an Application.
	fails bool
}

var chapters = []chapter{
	{outputs: []string{"commit", "comment", "progress"}},
	{outputs: []string{"drift"}},
	{outputs: []string{"failure", "log"}, fails: true},
	{outputs: []string{"rest"}},
}

// telling is what an output says of one Application: the commit and the hash that it is at, empty where that is not said, and
// those that it comes to.
type telling struct{ where, app, now, nowHash, planned, hash string }

// leaf is a target as terraform prints it, in two groups.
const leaf = `main@([0-9a-f]{7}) (#[0-9a-f]{8})`

// leaves match what an output says of an Application, its line breaks being blanks.
var leaves = []*regexp.Regexp{
	regexp.MustCompile(`"(guestbook-[a-z-]+)" = "` + leaf + `[^"]*" -> "` + leaf),                         // a plan
	regexp.MustCompile("(guestbook-[a-z-]+) \\| `" + leaf + "[^|]*\\| `" + leaf),                          // a comment
	regexp.MustCompile(`(guestbook-[a-z-]+) \(step [^()]*\) Pending: writing target ()()` + leaf),         // lines
	regexp.MustCompile(`Application argocd/(guestbook-[a-z-]+) in "[^"]*": [a-z ]+ \(target ()()` + leaf), // an error
}

// tellings are what pages say in an output.
func tellings(t *testing.T, pages []*page, output string) []telling {
	t.Helper()
	var found []telling
	for _, p := range pages {
		for _, b := range p.fences(t) {
			if b.output != output {
				continue
			}
			for _, pattern := range leaves {
				for _, m := range pattern.FindAllStringSubmatch(words(b.text), -1) {
					found = append(found, telling{fmt.Sprintf("%q of %s", output, p.path), m[1], m[2], m[3], m[4], m[5]})
				}
			}
		}
	}
	return found
}

// contradictions are those in the story: nobody changes the configuration, so an Application has one hash in all outputs; a
// rollout comes to one commit; and it begins where the one before has ended.
func contradictions(t *testing.T, pages []*page) []string {
	t.Helper()
	var found []string
	differ := func(what string, before, is telling, one, other string) {
		if one != other {
			found = append(found, fmt.Sprintf("%s of %s is %s in %s, and %s in %s", what, is.app, one, before.where, other, is.where))
		}
	}
	first, reached := map[string]telling{}, map[string]telling{}
	for _, c := range chapters {
		var begun *telling
		comes := map[string]telling{}
		for _, output := range c.outputs {
			all := tellings(t, pages, output)
			if len(all) == 0 {
				found = append(found, fmt.Sprintf("no page tells of an Application in %q", output))
			}
			for _, is := range all {
				if _, known := first[is.app]; !known {
					first[is.app] = is
				}
				if _, known := comes[is.app]; !known {
					comes[is.app] = is
				}
				begun = cmp.Or(begun, &is)
				differ("the hash", first[is.app], is, first[is.app].hash, is.hash)
				differ("the target", *begun, is, begun.planned, is.planned)
				if is.now == "" {
					continue
				}
				differ("the hash", first[is.app], is, first[is.app].hash, is.nowHash)
				if before, known := reached[is.app]; known {
					differ("the commit", before, is, before.planned, is.now)
				}
			}
		}
		if !c.fails {
			for app, is := range comes {
				reached[app] = is
			}
		}
	}
	return found
}

// TestDocsTellOneStory finds outputs of several runs that were mixed.
func TestDocsTellOneStory(t *testing.T) {
	for _, contradiction := range contradictions(t, pages(t)) {
		t.Error(contradiction)
	}
}

// TestDocsNameTargetsThatTheyShow finds targets in the middle of a text that no output of the page has.
func TestDocsNameTargetsThatTheyShow(t *testing.T) {
	target := regexp.MustCompile(leaf)
	for _, p := range pages(t) {
		shown := map[string]bool{}
		for _, b := range p.fences(t) {
			for _, s := range target.FindAllString(b.text, -1) {
				shown[s] = true
			}
		}
		for i, line := range p.prose(t) {
			for _, s := range target.FindAllString(line, -1) {
				if !shown[s] {
					t.Errorf("%s:%d: %s stands in no output of the page", p.path, i+1, s)
				}
			}
		}
	}
}

func TestContradictionsInAStoryAreFound(t *testing.T) {
	const whole = "<!-- output: commit -->\n```\n\"guestbook-dev\" = \"main@aaaaaa1 #11111111\" -> \"main@aaaaaa2 #11111111\"\n" +
		"\"guestbook-staging\" = \"main@aaaaaa1 #22222222\" -> \"main@aaaaaa2 #22222222\"\n```\n" +
		"<!-- output: comment -->\n```\n| s | guestbook-dev | `main@aaaaaa1 #11111111` | `main@aaaaaa2 #11111111` |\n```\n" +
		"<!-- output: progress -->\n```\nguestbook-dev (step 1: env in [dev]) Pending: writing target main@aaaaaa2 #11111111\n```\n" +
		"<!-- output: drift -->\n```\n\"guestbook-dev\" = \"main@aaaaaa2 #11111111 (OutOfSync)\" -> \"main@aaaaaa2 #11111111\"\n```\n" +
		"<!-- output: failure -->\n```\nApplication argocd/guestbook-staging in \"s\": sync\nfailed (target main@aaaaaa3 #22222222).\n```\n" +
		"<!-- output: log -->\n```\nguestbook-dev (step 1: env in [dev]) Pending: writing target main@aaaaaa3 #11111111\n```\n" +
		"<!-- output: rest -->\n```\n\"guestbook-staging\" = \"main@aaaaaa2 #22222222 (Failed)\" -> \"main@aaaaaa4 #22222222\"\n```\n"
	for name, c := range map[string]struct{ old, by, want string }{
		"none": {},
		"another hash in a comment": {
			"`main@aaaaaa2 #11111111`", "`main@aaaaaa2 #99999999`",
			`the hash of guestbook-dev is #11111111 in "commit" of a page, and #99999999 in "comment" of a page`,
		},
		"another hash before a plan": {
			"main@aaaaaa2 #22222222 (Failed)", "main@aaaaaa2 #99999999 (Failed)",
			`the hash of guestbook-staging is #22222222 in "commit" of a page, and #99999999 in "rest" of a page`,
		},
		"another commit in lines": {
			"target main@aaaaaa2 #11111111", "target main@aaaaaa9 #11111111",
			`the target of guestbook-dev is aaaaaa2 in "commit" of a page, and aaaaaa9 in "progress" of a page`,
		},
		"a rollout that begins elsewhere": {
			"main@aaaaaa2 #22222222 (Failed)", "main@aaaaaa3 #22222222 (Failed)",
			`the commit of guestbook-staging is aaaaaa2 in "commit" of a page, and aaaaaa3 in "rest" of a page`,
		},
		"an output that tells nothing": {
			"Application argocd/guestbook-staging", "Application", `no page tells of an Application in "failure"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := &page{path: "a page", lines: strings.Split(strings.Replace(whole, c.old, c.by, 1), "\n")}
			if got := strings.Join(contradictions(t, []*page{p}), "; "); got != c.want {
				t.Errorf("found %q, not %q", got, c.want)
			}
		})
	}
}
