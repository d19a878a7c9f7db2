package provider

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/appset"
	"github.com/argocdprogressive/terraform-provider-argocdprogressive/internal/rollout"
)

// The values of attributes that are a choice; the first one is the default.
const (
	deletionCascade = "cascade"
	deletionOrphan  = "orphan"

	retryFirst = "first"
	retryAll   = "all"

	suspendedWait   = string(rollout.SuspendedWait)
	suspendedAccept = string(rollout.SuspendedAccept)
	suspendedFail   = string(rollout.SuspendedFail)

	windowFail   = "fail"
	windowWait   = "wait"
	windowManual = "manual"

	unselectedIgnore = "ignore"
	unselectedError  = "error"
	unselectedLast   = "last"

	overlapFirst = "first"
	overlapError = "error"
)

// Settings of a rollout that are not set. They are applied here and not in state, so that an
// attribute added by a later version of the provider makes no difference in a plan.
const (
	defaultAppTimeout     = 10 * time.Minute
	defaultMinHealthyTime = 5 * time.Second
	defaultDegradedGrace  = 30 * time.Second
	// Argo CD's first retry comes 10 s after the first attempt, and cures what passes by itself: two
	// Applications that create the same namespace at once, for one.
	defaultErrorGrace  = 15 * time.Second
	defaultLockTimeout = time.Minute
	defaultTimeout     = time.Hour
)

var defaultMaxDeletions = amount{value: 20, percent: true}

// rolloutModel is rollout = {...}.
type rolloutModel struct {
	AppTimeout            types.String `tfsdk:"app_timeout"`
	MinHealthyTime        types.String `tfsdk:"min_healthy_time"`
	SoakTime              types.String `tfsdk:"soak_time"`
	DegradedGrace         types.String `tfsdk:"degraded_grace"`
	ErrorGrace            types.String `tfsdk:"error_grace"`
	LockTimeout           types.String `tfsdk:"lock_timeout"`
	MaxFailures           types.String `tfsdk:"max_failures"`
	RequireHealthyEarlier types.Bool   `tfsdk:"require_healthy_earlier"`
	Retry                 types.String `tfsdk:"retry"`
	Suspended             types.String `tfsdk:"suspended"`
	SyncWindowPolicy      types.String `tfsdk:"sync_window_policy"`
	AcceptOutOfSync       types.Bool   `tfsdk:"accept_out_of_sync"`
	StopAfterStep         types.Number `tfsdk:"stop_after_step"`
	Hold                  types.Set    `tfsdk:"hold"`
	Unselected            types.String `tfsdk:"unselected"`
	Overlap               types.String `tfsdk:"overlap"`
	Prune                 types.Bool   `tfsdk:"prune"`
	MaxDeletions          types.String `tfsdk:"max_deletions"`
	AllowEmpty            types.Bool   `tfsdk:"allow_empty"`
	AdoptExisting         types.Bool   `tfsdk:"adopt_existing"`
	Deletion              types.String `tfsdk:"deletion"`
}

// settings are those of rollout = {...} with the defaults filled in.
type settings struct {
	appTimeout            time.Duration
	minHealthyTime        time.Duration
	soakTime              time.Duration
	degradedGrace         time.Duration
	errorGrace            time.Duration
	lockTimeout           time.Duration
	maxFailures           amount
	requireHealthyEarlier bool
	allRetries            bool
	suspended             rollout.SuspendedPolicy
	// windowPolicy is empty while it is not known.
	windowPolicy    string
	acceptOutOfSync bool
	selection       selection
	// prune is nil where each Application decides.
	prune         *bool
	maxDeletions  amount
	allowEmpty    bool
	adoptExisting bool
	// orphan leaves the resources of Applications that are deleted, and deletionGiven tells that rollout.deletion says
	// whether; see of.
	orphan, deletionGiven bool
	// What is known only after apply guards nothing at plan; apply asks again.
	maxDeletionsUnknown  bool
	allowEmptyUnknown    bool
	adoptExistingUnknown bool
	timesUnknown         bool
}

func defaultSettings() settings {
	return settings{
		appTimeout:            defaultAppTimeout,
		minHealthyTime:        defaultMinHealthyTime,
		degradedGrace:         defaultDegradedGrace,
		errorGrace:            defaultErrorGrace,
		lockTimeout:           defaultLockTimeout,
		requireHealthyEarlier: true,
		suspended:             rollout.SuspendedWait,
		windowPolicy:          windowFail,
		maxDeletions:          defaultMaxDeletions,
	}
}

// readSettings fills defaults in for what is null or not known yet.
func readSettings(ctx context.Context, o types.Object) (settings, diag.Diagnostics) {
	s := defaultSettings()
	if o.IsNull() {
		return s, nil
	}
	if o.IsUnknown() {
		s.maxDeletionsUnknown, s.allowEmptyUnknown, s.timesUnknown, s.selection.unknown = true, true, true, true
		return s, nil
	}
	var m rolloutModel
	diags := o.As(ctx, &m, basetypes.ObjectAsOptions{})
	s.readTimes(&m)
	for value, into := range map[*types.String]*amount{&m.MaxDeletions: &s.maxDeletions, &m.MaxFailures: &s.maxFailures} {
		// The schema has validated the text.
		if a, err := parseAmount(value.ValueString()); err == nil {
			*into = a
		}
	}
	if v := m.RequireHealthyEarlier; !v.IsNull() && !v.IsUnknown() {
		s.requireHealthyEarlier = v.ValueBool()
	}
	if v := m.Prune; !v.IsNull() && !v.IsUnknown() {
		s.prune = v.ValueBoolPointer()
	}
	if v := m.Suspended.ValueString(); v != "" {
		s.suspended = rollout.SuspendedPolicy(v)
	}
	if v := m.SyncWindowPolicy; !v.IsNull() {
		s.windowPolicy = v.ValueString()
	}
	s.allRetries = m.Retry.ValueString() == retryAll
	s.acceptOutOfSync = m.AcceptOutOfSync.ValueBool()
	s.maxDeletionsUnknown = m.MaxDeletions.IsUnknown()
	s.allowEmpty = m.AllowEmpty.ValueBool()
	s.allowEmptyUnknown = m.AllowEmpty.IsUnknown()
	s.adoptExisting = m.AdoptExisting.ValueBool()
	s.adoptExistingUnknown = m.AdoptExisting.IsUnknown()
	s.orphan, s.deletionGiven = m.Deletion.ValueString() == deletionOrphan, m.Deletion.ValueString() != ""
	s.selection = m.selection()
	return s, diags
}

// of are the settings for a set: one that preserves resources leaves them, unless rollout.deletion says something else.
// In Argo CD its Applications have no finalizer that deletes resources then, but one that the template gives.
func (s settings) of(set *appset.Set) settings {
	if set != nil && set.PreserveResources && !s.deletionGiven {
		metadata, _ := set.Template["metadata"].(map[string]any)
		given, _ := metadata["finalizers"].([]any)
		s.orphan = !slices.ContainsFunc(given, func(f any) bool {
			name, _ := f.(string)
			return strings.HasPrefix(name, appset.ResourcesFinalizer)
		})
	}
	return s
}

func (s *settings) readTimes(m *rolloutModel) {
	for value, into := range map[*types.String]*time.Duration{
		&m.AppTimeout: &s.appTimeout, &m.MinHealthyTime: &s.minHealthyTime, &m.SoakTime: &s.soakTime,
		&m.DegradedGrace: &s.degradedGrace, &m.ErrorGrace: &s.errorGrace, &m.LockTimeout: &s.lockTimeout,
	} {
		s.timesUnknown = s.timesUnknown || value.IsUnknown()
		// The schema has validated the text.
		if d, err := parseDuration(value.ValueString()); err == nil {
			*into = d
		}
	}
}
