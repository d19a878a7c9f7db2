# A plan as a comment on a pull request: terraform show -json plan.bin | jq -r -f plan-comment.jq
# It prints nothing for a plan that changes no set.

# The keys of an object, none of anything else.
def names: if type == "object" then keys else [] end;

# What stands at a key, null where there is nothing. What is unknown as a whole is so in every part.
def at($key): if type == "object" then .[$key] else . end;

# A leaf of "waves": nothing, known after apply (true), or a target.
def target: if . == null then "" elif . == true then "known after apply" else "`\(.)`" end;

.resource_changes[]?
| select(.type == "argocdprogressive_applicationset" and any(.change.actions[]; . != "no-op" and . != "read"))
| .change.before.waves? as $before
| .change.after.waves? as $after
| .change.after_unknown.waves? as $unknown
| [
    ([$before, $after, $unknown | names[]] | unique[]) as $step
    | ([$before, $after, $unknown | at($step) | names[]] | unique[]) as $app
    | {
        step: $step,
        app: $app,
        now: ($before | at($step) | at($app)),
        planned: (($after | at($step) | at($app)) // ($unknown | at($step) | at($app)))
      }
    | select(.now != .planned)
  ] as $rows
| "### `\(.address)`: \(.change.actions | join(", "))",
  "",
  if $unknown == true then "The waves are known only after apply."
  elif $rows == [] then "No Application changes."
  else
    "| step | Application | now | planned |",
    "| --- | --- | --- | --- |",
    ($rows[] | "| \(.step) | \(.app) | \(.now | target) | \(.planned | target) |")
  end,
  ""
