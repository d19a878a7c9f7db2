package appset

import (
	"fmt"
	"slices"
	"text/template"
	"text/template/parse"
)

// Functions that instrument puts into templates. No text may call them.
const (
	tickName  = "argocdprogressiveTick"
	enterName = "argocdprogressiveEnter"
	leaveName = "argocdprogressiveLeave"
	lookName  = "argocdprogressiveLook"
)

var meterNames = []string{tickName, enterName, leaveName, lookName}

// comparing are the functions of text/template whose work grows with their arguments, and that
// cannot be replaced by counted ones.
var comparing = []string{"eq", "ne", "lt", "le", "gt", "ge", "index"}

// instrumented keeps which trees have been worked on: clones of a template share them.
type instrumented map[*parse.Tree]bool

// fresh are the trees of t that have not been worked on.
func (done instrumented) fresh(t *template.Template) []*parse.Tree {
	var out []*parse.Tree
	for _, tree := range t.Templates() {
		if tree.Tree != nil && tree.Root != nil && !done[tree.Tree] {
			out = append(out, tree.Tree)
		}
	}
	return out
}

// forget is for trees that are gone: those of one call of tpl.
func (done instrumented) forget(trees []*parse.Tree, m *meter, comparisons int) {
	for _, tree := range trees {
		delete(done, tree)
	}
	m.comparisons = comparisons
}

// instrument makes templates count their work: every round of a loop and every call of a
// template, also where the body is empty, and what is printed or looped over. It is an error if a
// text names the functions for that.
func (done instrumented) instrument(trees []*parse.Tree, m *meter, refs references) error {
	for _, name := range refs.functions {
		if slices.Contains(meterNames, name) {
			return fmt.Errorf("function %q not defined", name)
		}
		if slices.Contains(comparing, name) {
			m.comparisons++
		}
	}
	for _, tree := range trees {
		done[tree] = true
		countList(tree.Root, refs.mutates)
		if refs.calls {
			tree.Root.Nodes = slices.Concat([]parse.Node{callOf(enterName)}, tree.Root.Nodes, []parse.Node{callOf(leaveName)})
		}
	}
	return nil
}

// referencesIn are the references in trees that tpl has read. They may change what they were given,
// and call any template.
func referencesIn(trees []*parse.Tree) references {
	r := references{mutates: true, calls: true}
	for _, tree := range trees {
		r.walk(tree.Root, scope{})
	}
	return r
}

// countList works on a list of nodes. Without functions that change their arguments everything that
// can be printed has been weighed where it was made.
func countList(list *parse.ListNode, mutates bool) {
	if list == nil {
		return
	}
	for _, n := range list.Nodes {
		switch n := n.(type) {
		case *parse.ActionNode:
			if mutates && len(n.Pipe.Decl) == 0 {
				n.Pipe.Cmds = append(n.Pipe.Cmds, commandOf(lookName))
			}
		case *parse.IfNode:
			countList(n.List, mutates)
			countList(n.ElseList, mutates)
		case *parse.WithNode:
			countList(n.List, mutates)
			countList(n.ElseList, mutates)
		case *parse.RangeNode:
			n.Pipe.Cmds = append(n.Pipe.Cmds, commandOf(lookName))
			countList(n.List, mutates)
			countList(n.ElseList, mutates)
			n.List.Nodes = slices.Concat([]parse.Node{callOf(tickName)}, n.List.Nodes)
		}
	}
}

func commandOf(function string) *parse.CommandNode {
	return &parse.CommandNode{NodeType: parse.NodeCommand, Args: []parse.Node{parse.NewIdentifier(function)}}
}

// callOf is the action {{function}}.
func callOf(function string) parse.Node {
	return &parse.ActionNode{
		NodeType: parse.NodeAction,
		Pipe:     &parse.PipeNode{NodeType: parse.NodePipe, Cmds: []*parse.CommandNode{commandOf(function)}},
	}
}
