package acceptance

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/itchyny/gojq"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/jsonpath"
)

// The commands that guides and errors print are run by a shell, as they stand. Not every machine has the programs that are
// in them, so the test binary stands in for these, called by their names; realToolsEnv, when it is set, has the ones on PATH run.
const realToolsEnv = "ARGOCDPROGRESSIVE_TEST_REAL_TOOLS"

// tools are the programs that the test binary stands in for.
var tools = map[string]func(args []string) error{"kubectl": runKubectl, "jq": runJQ}

// asTool runs the program that the test binary was called as, if it was called as one.
func asTool() {
	run, is := tools[filepath.Base(os.Args[0])]
	if !is {
		return
	}
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// shell runs commands in a directory, as the administrator. Those that wait for something have as long as any wait of the harness.
func (f *fixture) shell(dir, commands string) (output string, err error) {
	f.Helper()
	path := os.Getenv("PATH")
	if os.Getenv(realToolsEnv) == "" {
		own := f.TempDir()
		binary, err := os.Executable()
		if err != nil {
			f.Fatal(err)
		}
		for name := range tools {
			if err := os.Symlink(binary, filepath.Join(own, name)); err != nil {
				f.Fatal(err)
			}
		}
		path = own + string(os.PathListSeparator) + path
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", commands)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	cmd.Env = append(os.Environ(), "PATH="+path, "KUBECONFIG="+f.cluster.Kubeconfig())
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// runs runs commands that must succeed.
func (f *fixture) runs(dir, commands string) {
	f.Helper()
	if out, err := f.shell(dir, commands); err != nil {
		f.Fatalf("%v: %s\nof\n%s", err, out, commands)
	}
}

// commandsIn are the commands of an output of terraform, each on lines of its own that begin with blanks.
func (f *fixture) commandsIn(output string) string {
	f.Helper()
	if found := regexp.MustCompile(`(?m)^  (?:kubectl|until|\() ?.*(?:\n  (?:kubectl|until|\() ?.*)*`).FindString(output); found != "" {
		return found
	}
	f.Fatalf("there are no commands in\n%s", output)
	return ""
}

// guideCommands are the blocks of a guide that have commands for a shell, for the set of the fixture instead of guestbook.
func (f *fixture) guideCommands(guide string) []string {
	f.Helper()
	content, err := os.ReadFile(filepath.Join(root, "templates", "guides", guide))
	if err != nil {
		f.Fatal(err)
	}
	var blocks []string
	for _, m := range regexp.MustCompile("(?s)```shell\n(.*?)```").FindAllStringSubmatch(string(content), -1) {
		blocks = append(blocks, strings.NewReplacer("argocd/guestbook", argoNamespace+"/"+f.name, "io guestbook", "io "+f.name).Replace(m[1]))
	}
	return blocks
}

// runKubectl does what the commands ask of kubectl.
func runKubectl(args []string) error {
	var namespace, kind, body, output, file, selector, cascade string
	set := flag.NewFlagSet("kubectl", flag.ContinueOnError)
	for name, value := range map[string]*string{"n": &namespace, "type": &kind, "p": &body, "o": &output, "f": &file, "l": &selector, "cascade": &cascade} {
		set.StringVar(value, name, "", "")
	}
	var given []string
	for len(args) > 0 {
		if err := set.Parse(args); err != nil {
			return err
		}
		if args = set.Args(); len(args) > 0 {
			given, args = append(given, args[0]), args[1:]
		}
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if len(given) > 0 && given[0] == "apply" {
		return applyFile(ctx, client, file)
	}
	if len(given) < 2 {
		return fmt.Errorf("%v is not known", given)
	}
	name := ""
	if len(given) > 2 {
		name = given[2]
	}
	for _, resource := range strings.Split(given[1], ",") {
		known, ok := map[string]schema.GroupVersionResource{
			"applicationsets.argoproj.io": appSets, "applications.argoproj.io": applications, "configmap": configMaps, "lease": leases,
		}[resource]
		if !ok {
			return fmt.Errorf("the resource %q is not known", resource)
		}
		at := client.Resource(known).Namespace(namespace)
		switch given[0] {
		case "get":
			err = get(ctx, at, name, output)
		case "patch":
			patches := map[string]types.PatchType{"json": types.JSONPatchType, "merge": types.MergePatchType}
			_, err = at.Patch(ctx, name, patches[kind], []byte(body), metav1.PatchOptions{})
		case "annotate", "label":
			_, err = at.Patch(ctx, name, types.MergePatchType, marks(given[0], given[3:]), metav1.PatchOptions{})
		case "delete":
			err = remove(ctx, at, name, selector, cascade)
		default:
			err = fmt.Errorf("%q is not known", given[0])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// get prints what a jsonpath finds in an object, or in the list of all.
func get(ctx context.Context, at dynamic.ResourceInterface, name, output string) error {
	template, ok := strings.CutPrefix(output, "jsonpath=")
	if !ok {
		return fmt.Errorf("the output %q is not known", output)
	}
	path := jsonpath.New("output").AllowMissingKeys(true)
	if err := path.Parse(template); err != nil {
		return err
	}
	if name != "" {
		found, err := at.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		return path.Execute(os.Stdout, found.Object)
	}
	found, err := at.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	return path.Execute(os.Stdout, found.UnstructuredContent())
}

// marks is a patch of labels or annotations: KEY=VALUE or KEY-.
func marks(verb string, changes []string) []byte {
	values := map[string]any{}
	for _, change := range changes {
		key, value, sets := strings.Cut(change, "=")
		if values[key] = value; !sets {
			delete(values, key)
			values[strings.TrimSuffix(change, "-")] = nil
		}
	}
	field := map[string]string{"annotate": "annotations", "label": "labels"}[verb]
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{field: values}})
	if err != nil {
		panic(err) // texts alone
	}
	return body
}

// remove deletes an object, or those that a selector selects, and waits until they are gone.
func remove(ctx context.Context, at dynamic.ResourceInterface, name, selector, cascade string) error {
	names := []string{name}
	if name == "" {
		found, err := at.List(ctx, metav1.ListOptions{LabelSelector: selector})
		if err != nil || selector == "" {
			return errors.Join(err, fmt.Errorf("nothing is selected by %q", selector))
		}
		names = nil
		for i := range found.Items {
			names = append(names, found.Items[i].GetName())
		}
	}
	policy := metav1.DeletePropagationBackground
	if cascade == "orphan" {
		policy = metav1.DeletePropagationOrphan
	}
	for _, name := range names {
		if err := at.Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
			return err
		}
		for {
			if _, err := at.Get(ctx, name, metav1.GetOptions{}); err != nil {
				break
			}
			if err := pause(ctx, 50*time.Millisecond); err != nil {
				return err
			}
		}
	}
	return nil
}

// applyFile applies an ApplicationSet in JSON.
func applyFile(ctx context.Context, client dynamic.Interface, file string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(content); err != nil {
		return err
	}
	if o.GroupVersionKind() != appSets.GroupVersion().WithKind("ApplicationSet") {
		return fmt.Errorf("a %s is not known", o.GroupVersionKind())
	}
	_, err = client.Resource(appSets).Namespace(o.GetNamespace()).Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: "kubectl", Force: true})
	return err
}

// runJQ prints what a filter makes of one JSON value.
func runJQ(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("the arguments %q are not known", args)
	}
	query, err := gojq.Parse(args[0])
	if err != nil {
		return err
	}
	content, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	var value any
	if err := json.Unmarshal(content, &value); err != nil {
		return err
	}
	results := query.Run(value)
	for result, more := results.Next(); more; result, more = results.Next() {
		if err, failed := result.(error); failed {
			return err
		}
		text, err := json.MarshalIndent(result, "", "  ")
		if err != nil {
			return err
		}
		fmt.Println(string(text))
	}
	return nil
}

// block is the first of a guide's blocks that contains a text.
func (f *fixture) block(blocks []string, contains string) string {
	f.Helper()
	at := slices.IndexFunc(blocks, func(b string) bool { return strings.Contains(b, contains) })
	if at < 0 {
		f.Fatalf("no block of the guide has %q", contains)
	}
	return blocks[at]
}
