package ocisource

import (
	"archive/tar"
	"bytes"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/gitsource"
)

func TestArtifactsThatArgoCDTakesAndOthers(t *testing.T) {
	archive := tarOf(t, file("app/values.yaml", "a: 1"))
	good := layer{zippedType, zipped(t, archive)}
	many := make([]layer, 11)
	for i := range many {
		many[i] = layer{"text/plain", []byte{byte(i)}}
	}
	for name, c := range map[string]struct {
		config string
		layers []layer
		// files are what there is, or the error says so.
		files, said string
	}{
		"an archive":                             {emptyType, []layer{{tarType, archive}}, "app/values.yaml", ""},
		"a zipped archive":                       {emptyType, []layer{good}, "app/values.yaml", ""},
		"with a layer that is no content":        {emptyType, []layer{{"application/vnd.in-toto+json", []byte("{}")}, good}, "app/values.yaml", ""},
		"a chart, whose directory is left":       {chartConfig, []layer{{chartLayer, zipped(t, archive)}}, "values.yaml", ""},
		"a chart with a provenance":              {chartConfig, []layer{{chartLayer, zipped(t, archive)}, {"application/vnd.cncf.helm.chart.provenance.v1.prov", []byte("x")}}, "values.yaml", ""},
		"a chart with a layer of an image":       {chartConfig, []layer{{chartLayer, zipped(t, archive)}, {zippedType, zipped(t, tarOf(t))}}, "values.yaml", ""},
		"a link within the directory of a chart": {chartConfig, []layer{{chartLayer, zipped(t, tarOf(t, file("web/a", ""), link("web/b", "../web/a")))}}, "a b", ""},
		"a layer of a chart in an artifact":      {emptyType, []layer{{chartLayer, zipped(t, archive)}}, "values.yaml", ""},
		"an empty archive":                       {emptyType, []layer{{tarType, tarOf(t)}}, "", ""},
		"no layer":                               {emptyType, nil, "", "has 0 layers with content"},
		"two layers":                             {emptyType, []layer{good, {tarType, archive}}, "", "has 2 layers with content"},
		"eleven layers":                          {emptyType, many, "", "it has 11 layers; Argo CD takes at most 10"},
		"an image of docker":                     {emptyType, []layer{{"application/vnd.docker.image.rootfs.diff.tar.gzip", good.content}}, "", "of the media type application/vnd.docker.image.rootfs.diff.tar.gzip; Argo CD takes"},
		"a chart without its layer":              {chartConfig, []layer{good}, "", "has 0 layers with content"},
		"a chart of two directories":             {chartConfig, []layer{{chartLayer, zipped(t, tarOf(t, directory("a"), directory("b")))}}, "", "must hold one directory"},
		"a chart of one file":                    {chartConfig, []layer{{chartLayer, zipped(t, tarOf(t, file("a", "x")))}}, "", "must hold one directory"},
		"zipped though it must not be":           {emptyType, []layer{{tarType, good.content}}, "", "no whole archive of the kind that its media type says"},
		"not zipped though it must be":           {emptyType, []layer{{zippedType, archive}}, "", "no archive of the kind that its media type says"},
		"half of an archive":                     {emptyType, []layer{{tarType, archive[:514]}}, "", "no whole archive"},
		"nothing that is zipped":                 {emptyType, []layer{{zippedType, nil}}, "", "no whole archive"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRegistry(t)
			r.push("1", c.config, c.layers...)
			tree, err := fetch(t.Context(), r.repository(), "1", quick())
			if c.said != "" {
				if err == nil {
					t.Fatal("there is no error")
				}
				if !strings.Contains(err.Error(), c.said) {
					t.Errorf("the error does not say %q: %v", c.said, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if names, err := tree.Glob("**"); err != nil || strings.Join(names, " ") != c.files {
				t.Errorf("the files are %v, %v; want %s", names, err, c.files)
			}
		})
	}
	r := newRegistry(t)
	r.pushManifest("index", "application/vnd.oci.image.index.v1+json", map[string]any{"schemaVersion": 2, "manifests": []any{}})
	_, err := fetch(t.Context(), r.repository(), "index", quick())
	fails(t, err, gitsource.Invalid, "(application/vnd.oci.image.index.v1+json) has 0 layers with content")
	r.pushManifest("broken", manifestType, "no object")
	_, err = fetch(t.Context(), r.repository(), "broken", quick())
	fails(t, err, gitsource.Invalid, "not JSON of the right form")
}

// hardLink is an entry that Argo CD does not unpack.
func hardLink(name, target string) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeLink, Linkname: target}
}

func TestArchivesAreReadAsArgoCDUnpacksThem(t *testing.T) {
	for name, c := range map[string]struct {
		entries []tar.Header
		// want are the directories and, behind a bar, the files; or the error says so.
		want, said string
	}{
		"directories that are only in paths":         {[]tar.Header{file("a/b/c.txt", "")}, "a a/b | a/b/c.txt", ""},
		"an empty directory":                         {[]tar.Header{directory("a/b/")}, "a a/b |", ""},
		"paths that are written in another way":      {[]tar.Header{directory("./"), file("./a//b/../x", ""), file("/y", "")}, "a | a/x y", ""},
		"the last file of a name":                    {[]tar.Header{file("a", "1"), file("a", "two")}, "| a", ""},
		"hidden files and directories":               {[]tar.Header{file(".a/.b", "")}, ".a | .a/.b", ""},
		"what is neither a file nor a link":          {[]tar.Header{file("a", ""), hardLink("b", "a"), {Name: "c", Typeflag: tar.TypeFifo}}, "| a", ""},
		"a link to a file":                           {[]tar.Header{file("d/a", ""), link("d/b", "a")}, "d | d/a d/b", ""},
		"a link to a file that comes later":          {[]tar.Header{link("b", "a"), file("a", "")}, "| a b", ""},
		"a link to a directory":                      {[]tar.Header{file("d/a", ""), link("e", "d")}, "d | d/a e/a", ""},
		"a link that begins with a slash stays":      {[]tar.Header{file("d/e/a", ""), link("d/b", "/e/a")}, "d d/e | d/b d/e/a", ""},
		"a link to nothing":                          {[]tar.Header{link("b", "a")}, "|", ""},
		"links in a circle":                          {[]tar.Header{link("a", "b"), link("b", "a"), file("c", "")}, "| c", ""},
		"a path that leads out":                      {[]tar.Header{file("../a", "")}, "", "leads out of it"},
		"a path that leads out at last":              {[]tar.Header{file("a/../../b", "")}, "", "leads out of it"},
		"a link that leads out":                      {[]tar.Header{link("d/a", "../../b")}, "", "symbolic link that leads out of it"},
		"a link through a file":                      {[]tar.Header{file("f", ""), link("a", "f/x")}, "", "cannot be followed"},
		"a file behind a link":                       {[]tar.Header{directory("d"), link("e", "d"), file("e/a", "")}, "", "lies behind a symbolic link"},
		"a file in the place of a link":              {[]tar.Header{file("a", ""), link("b", "a"), file("b", "x")}, "", `it has "b" twice`},
		"a file in the place of a directory":         {[]tar.Header{directory("d"), file("d", "")}, "", `it has "d" twice`},
		"a directory in the place of a file":         {[]tar.Header{file("d", ""), file("d/e", "")}, "", `it has "d" twice`},
		"a link in the place of a file":              {[]tar.Header{file("d", ""), link("d", "e")}, "", `it has "d" twice`},
		"a path that is no text":                     {[]tar.Header{{Name: "a\xff", Typeflag: tar.TypeReg, Format: tar.FormatGNU}}, "", "not UTF-8"},
		"a very long path":                           {[]tar.Header{file(strings.Repeat("a/", 2100)+"b", "")}, "", "a path of more than 4096 bytes or 512 directories"},
		"a very deep path":                           {[]tar.Header{file(strings.Repeat("a/", 512)+"b", "")}, "", "a path of more than 4096 bytes or 512 directories"},
		"very many files":                            {slices.Repeat([]tar.Header{file("d/a", ""), file("d/b", "")}, 200), "d | d/a d/b", ""},
		"links that lead in a circle of directories": {[]tar.Header{file("d/a", ""), link("d/up", "..")}, "", "looks"},
	} {
		t.Run(name, func(t *testing.T) {
			tree, err := readArchive(t.Context(), bytes.NewReader(tarOf(t, c.entries...)), tarType, quick())
			if c.said == "looks" {
				checkCircle(t, tree, err)
				return
			}
			if c.said != "" {
				if err == nil || !strings.Contains(err.Error(), c.said) {
					t.Errorf("the error does not say %q: %v", c.said, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			names, err := tree.Glob("")
			if got := strings.TrimSpace(strings.Join(tree.Directories(), " ") + " | " + strings.Join(names, " ")); err != nil || got != c.want {
				t.Errorf("there is %q, %v; want %q", got, err, c.want)
			}
		})
	}
}

// checkCircle: as many links are followed as os.Root follows, then it ends.
func checkCircle(t *testing.T, tree *Tree, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	names, err := tree.Glob("**/a")
	if err != nil || len(names) != 9 || names[0] != "d/a" || names[8] != strings.Repeat("d/up/", 8)+"d/a" {
		t.Errorf("%d files: %v, %v", len(names), names, err)
	}
}

func TestTheLastFileOfANameIsRead(t *testing.T) {
	tree, err := readArchive(t.Context(), bytes.NewReader(tarOf(t, file("d/a", "1"), link("b", "d/a"), file("d/a", "two"))), tarType, quick())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"d/a", "b"} {
		if content, err := tree.Read(name); err != nil || string(content) != "two" {
			t.Errorf("%s is %q, %v", name, content, err)
		}
	}
	for name, said := range map[string]string{"d": "it is a directory", "x": "not exist", "b/c": "no directory"} {
		if _, err := tree.Read(name); err == nil || !strings.Contains(err.Error(), said) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheSizeOfAnArtifactIsThatOfWhatIsHeld(t *testing.T) {
	large := strings.Repeat("a", 5000)
	for name, c := range map[string]struct {
		entries []tar.Header
		want    int64
	}{
		"nothing":                       {nil, entryBytes},
		"a file":                        {[]tar.Header{file("abc", large)}, 2*entryBytes + 3 + 5000},
		"a file in directories":         {[]tar.Header{file("a/b/c", "xyz")}, 4*entryBytes + 3 + 3},
		"a file that is there twice":    {[]tar.Header{file("a", large), file("a", "xyz")}, 2*entryBytes + 1 + 3},
		"a link":                        {[]tar.Header{file("a", ""), link("b", "a")}, 3*entryBytes + 2 + 1},
		"a file that may not be read":   {[]tar.Header{file("a", large+large)}, 2*entryBytes + 1},
		"what is neither file nor link": {[]tar.Header{{Name: "a", Typeflag: tar.TypeFifo}}, entryBytes},
	} {
		r := newRegistry(t)
		r.push("1", emptyType, layer{tarType, tarOf(t, c.entries...)})
		l := quick()
		l.file = 6000
		tree, err := fetch(t.Context(), r.repository(), "1", l)
		if err != nil {
			t.Fatal(err)
		}
		if got := tree.Size(); got != c.want {
			t.Errorf("%s: %d bytes, want %d", name, got, c.want)
		}
	}
}

func TestPatternsMeanWhatTheyMeanInArgoCD(t *testing.T) {
	tree, err := readArchive(t.Context(), bytes.NewReader(tarOf(t,
		file("root.yaml", ""), file("apps/a/config.yaml", ""), file("apps/a/values.json", ""), file("apps/b/config.yaml", ""),
		file("apps/b/deep/config.yaml", ""), file("apps/.hidden/config.yaml", ""), file("a[1]/x y.yaml", ""),
	)), tarType, quick())
	if err != nil {
		t.Fatal(err)
	}
	const everything = "a[1]/x y.yaml apps/.hidden/config.yaml apps/a/config.yaml apps/a/values.json apps/b/config.yaml apps/b/deep/config.yaml root.yaml"
	for pattern, want := range map[string]string{
		"": everything, ".": everything, "**": everything, "**/*": everything,
		"*":                        "root.yaml",
		"*.yaml":                   "root.yaml",
		"apps/*/config.yaml":       "apps/.hidden/config.yaml apps/a/config.yaml apps/b/config.yaml",
		"apps/**/config.yaml":      "apps/.hidden/config.yaml apps/a/config.yaml apps/b/config.yaml apps/b/deep/config.yaml",
		"apps/[!.]/*.{yaml,json}":  "apps/a/config.yaml apps/a/values.json apps/b/config.yaml",
		"apps/a":                   "",
		"apps/a/":                  "",
		"apps/a/**":                "apps/a/config.yaml apps/a/values.json",
		"apps/a/config.yaml":       "apps/a/config.yaml",
		"root.yaml/**":             "",
		`a\[1\]/*`:                 "a[1]/x y.yaml",
		"apps/?/config.yaml":       "apps/a/config.yaml apps/b/config.yaml",
		"/root.yaml":               "",
		"./root.yaml":              "",
		"../root.yaml":             "",
		"apps/../root.yaml":        "",
		"nothing":                  "",
		"**/**/**/deep/**/*.yaml":  "apps/b/deep/config.yaml",
		"apps/{a,b}/{config,x}.*":  "apps/a/config.yaml apps/b/config.yaml",
		"{apps/a,apps/b}/**/c*g.*": "apps/a/config.yaml apps/b/config.yaml apps/b/deep/config.yaml",
	} {
		if got, err := tree.Glob(pattern); err != nil || strings.Join(got, " ") != want {
			t.Errorf("%q: %v, %v; want %s", pattern, got, err, want)
		}
	}
	for pattern, said := range map[string]string{
		"a[": "not a pattern", "{a": "not a pattern", `a\`: "not a pattern",
		strings.Repeat("{a,b}", 11): "too many others", strings.Repeat("a", 5000): "too many others",
	} {
		if _, err := tree.Glob(pattern); err == nil || !strings.Contains(err.Error(), said) {
			t.Errorf("%q: %v", pattern, err)
		}
	}
}

func TestArtifactsAreBounded(t *testing.T) {
	var circles []tar.Header
	for i := range 20 {
		circles = append(circles, link(fmt.Sprint("l", i), "."))
	}
	for name, c := range map[string]struct {
		change  func(*limits)
		entries []tar.Header
		said    string
	}{
		"what is downloaded":    {func(l *limits) { l.layer = 10 }, []tar.Header{file("a", "")}, "its content has more than"},
		"what is unpacked":      {func(l *limits) { l.archive = 3000 }, []tar.Header{file("a", strings.Repeat("a", 5000))}, "when it is unpacked"},
		"the manifest":          {func(l *limits) { l.manifest = 10 }, []tar.Header{file("a", "")}, "its manifest has more than"},
		"the number of files":   {func(l *limits) { l.entries = 2 }, []tar.Header{file("a/b/c", "")}, "more than 2 files and directories"},
		"the length of names":   {func(l *limits) { l.names = 5 }, []tar.Header{file("a/bcdef", "")}, "of names"},
		"the targets of links":  {func(l *limits) { l.names = 5 }, []tar.Header{link("a", "bcdef")}, "of names"},
		"all sizes together":    {func(l *limits) { l.archive, l.file = 10_000, 100 }, []tar.Header{file("a", strings.Repeat("a", 6000)), file("a", strings.Repeat("a", 6000))}, "when it is unpacked"},
		"all that is held":      {func(l *limits) { l.held = 5 }, []tar.Header{file("a", "abc"), file("b", "abc")}, "MiB together"},
		"what a pattern visits": {func(l *limits) { l.looked = 100_000 }, circles, "look at too many files"},
		"a file that is read":   {func(l *limits) { l.file = 2; l.held = 2 }, []tar.Header{file("a", "abc"), file("b", "ab")}, "as much as a file may have"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRegistry(t)
			r.push("1", emptyType, layer{zippedType, zipped(t, tarOf(t, c.entries...))})
			l := quick()
			c.change(&l)
			tree, err := fetch(t.Context(), r.repository(), "1", l)
			if err == nil {
				_, err = tree.Glob("**")
			}
			if err == nil {
				_, err = tree.Read("a")
			}
			if err == nil || !strings.Contains(err.Error(), c.said) {
				t.Errorf("the error does not say %q: %v", c.said, err)
			}
		})
	}
}

func TestTagsAreBounded(t *testing.T) {
	r := newRegistry(t)
	r.pushFile("1.0.0", "a", "")
	r.pushFile("2.0.0", "a", "")
	l := quick()
	l.tags = 1
	_, err := fetch(t.Context(), r.repository(), ">=1.0.0", l)
	fails(t, err, gitsource.TooLarge, "more than 1 tags")
	r.pushFile("3.0.0-"+strings.Repeat("a", longestTag), "a", "")
	found, err := fetch(t.Context(), r.repository(), ">=1.0.0-0", quick())
	if err != nil || found.digest != r.tags["2.0.0"] {
		t.Errorf("a tag that is too long counts: %v, %v", found, err)
	}
	r.before = func(w http.ResponseWriter, request *http.Request) bool {
		if strings.HasSuffix(request.URL.Path, "tags/list") {
			w.Header().Set("Link", "<"+request.URL.Path+">; rel=\"next\"")
		}
		return false
	}
	l = quick()
	l.tagPages = 3
	_, err = fetch(t.Context(), r.repository(), ">=1.0.0", l)
	fails(t, err, gitsource.TooLarge, "has no end")
}

// Whatever an archive is, no path of it leads out, and every file that is found is one.
func FuzzArchive(f *testing.F) {
	f.Add(tarOf(f, file("a/b", "x"), link("a/c", "b"), link("d", "a")), "**")
	f.Add(tarOf(f, file("../b", "x")), "*")
	f.Add(tarOf(f, link("a", "."), link("b", "a/a/a")), "**/b/*")
	f.Fuzz(func(t *testing.T, archive []byte, pattern string) {
		l := quick()
		l.looked = 10_000
		tree, err := readArchive(t.Context(), bytes.NewReader(archive), tarType, l)
		if err != nil {
			return
		}
		for _, name := range tree.Directories() {
			if name != path.Clean(name) || strings.HasPrefix(name, "..") || strings.HasPrefix(name, "/") {
				t.Errorf("the directory %q", name)
			}
		}
		names, err := tree.Glob(pattern)
		if err != nil {
			return
		}
		for _, name := range names {
			if _, err := tree.Read(name); err != nil && !strings.Contains(err.Error(), "as much as a file may have") {
				t.Errorf("%q matches %q and is not read: %v", pattern, name, err)
			}
		}
	})
}
