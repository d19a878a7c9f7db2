package provider

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
)

// What happens to the resources of a deleted Application.
const (
	deletionCascade = "cascade"
	deletionOrphan  = "orphan"
)

// Settings of a rollout that are not set. They are applied here and not in state, so that an
// attribute added by a later version of the provider makes no difference in a plan.
const (
	defaultAppTimeout     = 10 * time.Minute
	defaultMinHealthyTime = 5 * time.Second
	defaultDegradedGrace  = 30 * time.Second
	defaultErrorGrace     = 10 * time.Second
	defaultLockTimeout    = time.Minute
	defaultTimeout        = time.Hour
)

var defaultMaxDeletions = amount{value: 20, percent: true}

// rolloutModel is rollout = {...}.
type rolloutModel struct {
	AppTimeout            types.String `tfsdk:"app_timeout"`
	MinHealthyTime        types.String `tfsdk:"min_healthy_time"`
	DegradedGrace         types.String `tfsdk:"degraded_grace"`
	ErrorGrace            types.String `tfsdk:"error_grace"`
	LockTimeout           types.String `tfsdk:"lock_timeout"`
	RequireHealthyEarlier types.Bool   `tfsdk:"require_healthy_earlier"`
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
	degradedGrace         time.Duration
	errorGrace            time.Duration
	lockTimeout           time.Duration
	requireHealthyEarlier bool
	// prune is nil where each Application decides.
	prune         *bool
	maxDeletions  amount
	allowEmpty    bool
	adoptExisting bool
	orphan        bool
	// What is known only after apply guards nothing at plan; apply asks again.
	maxDeletionsUnknown bool
	allowEmptyUnknown   bool
}

// readSettings fills defaults in for what is null or not known yet.
func readSettings(ctx context.Context, o types.Object) (settings, diag.Diagnostics) {
	s := settings{
		appTimeout:            defaultAppTimeout,
		minHealthyTime:        defaultMinHealthyTime,
		degradedGrace:         defaultDegradedGrace,
		errorGrace:            defaultErrorGrace,
		lockTimeout:           defaultLockTimeout,
		requireHealthyEarlier: true,
		maxDeletions:          defaultMaxDeletions,
	}
	if o.IsNull() {
		return s, nil
	}
	if o.IsUnknown() {
		s.maxDeletionsUnknown, s.allowEmptyUnknown = true, true
		return s, nil
	}
	var m rolloutModel
	diags := o.As(ctx, &m, basetypes.ObjectAsOptions{})
	for value, into := range map[*types.String]*time.Duration{
		&m.AppTimeout: &s.appTimeout, &m.MinHealthyTime: &s.minHealthyTime,
		&m.DegradedGrace: &s.degradedGrace, &m.ErrorGrace: &s.errorGrace, &m.LockTimeout: &s.lockTimeout,
	} {
		// The schema has validated the text.
		if d, err := parseDuration(value.ValueString()); err == nil {
			*into = d
		}
	}
	if v := m.RequireHealthyEarlier; !v.IsNull() && !v.IsUnknown() {
		s.requireHealthyEarlier = v.ValueBool()
	}
	if v := m.Prune; !v.IsNull() && !v.IsUnknown() {
		s.prune = v.ValueBoolPointer()
	}
	if a, err := parseAmount(m.MaxDeletions.ValueString()); err == nil {
		s.maxDeletions = a
	}
	s.maxDeletionsUnknown = m.MaxDeletions.IsUnknown()
	s.allowEmpty = m.AllowEmpty.ValueBool()
	s.allowEmptyUnknown = m.AllowEmpty.IsUnknown()
	s.adoptExisting = m.AdoptExisting.ValueBool()
	s.orphan = m.Deletion.ValueString() == deletionOrphan
	return s, diags
}
