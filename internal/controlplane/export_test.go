package controlplane

// ProcessGroups are the process groups of the components that run.
func (c *Cluster) ProcessGroups() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	groups := map[string]int{}
	for name, p := range c.processes {
		if p.running() {
			groups[name] = p.cmd.Process.Pid
		}
	}
	return groups
}

// Dir is the directory of the cluster's data.
func (c *Cluster) Dir() string { return c.dir }

// GroupEnds says whether a process group is gone within some seconds.
func GroupEnds(group int) bool { return groupEnds(group) }
