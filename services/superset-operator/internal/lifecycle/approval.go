package lifecycle

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/statusevents"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/version"
)

// ApprovalToken returns the value of an annotation that approves the change from one image to another, each given as
// repository:tag, and no other change.
func ApprovalToken(from, to string) string {
	text, err := json.Marshal(struct {
		FromImage string `json:"fromImage"`
		ToImage   string `json:"toImage"`
	}{from, to})
	if err != nil {
		return "" // two strings always marshal
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func approvalToken(context *v1alpha1.UpgradeContext) string {
	if context == nil {
		return ""
	}
	return context.ApprovalToken
}

// compareImages determines the image of the last migration and whether the desired image differs. A complete migration
// counts even if the following tasks are not complete: a return from there is a downgrade too.
func (d *decider) compareImages() {
	entry := d.status.Migrate
	job, exists := d.in.Jobs[resolve.Migrate.Slug]
	if exists && entry != nil && entry.State == v1alpha1.TaskRunning && job.State == JobSucceeded && currentAttempt(entry, job) &&
		!older(d.status.MigratedImage, entry.Image) {
		d.status.MigratedImage = entry.Image
	}
	from := d.in.LastImage
	if older(d.status.MigratedImage, d.in.Image) {
		from = d.status.MigratedImage
	}
	d.out.From, d.out.Upgrading = from, !d.in.Disabled && from != "" && from != d.in.Image
}

// older reports whether the version of the second image is known to be older than that of the first.
func older(from, to string) bool {
	return from != "" && version.Compare(from, to) == v1alpha1.DirectionDowngrade
}

// mayStart reports whether the tasks may start: an image change has passed its gates. A change whose tasks have started
// is not checked again.
func (d *decider) mayStart() bool {
	if !d.out.Upgrading {
		d.status.Upgrade = nil
		return true
	}
	token := ApprovalToken(d.out.From, d.in.Image)
	recorded := approvalToken(d.previous.Upgrade) == token
	if !recorded {
		d.status.Upgrade = &v1alpha1.UpgradeContext{
			FromVersion: version.Tag(d.out.From), ToVersion: version.Tag(d.in.Image),
			ApprovalToken: token, StartedAt: d.now(),
		}
	}
	context := d.status.Upgrade
	before := context.Direction
	context.Direction = version.Compare(d.out.From, d.in.Image)
	if before != context.Direction && context.Direction == v1alpha1.DirectionUnknown {
		d.warning(statusevents.EventVersionComparisonSkipped,
			"The tags of %s and %s cannot be ordered. A downgrade would not be detected.", d.out.From, d.in.Image)
	}
	downgrade := context.Direction == v1alpha1.DirectionDowngrade
	d.approve(context, recorded, downgrade)
	switch {
	case context.ApprovedAt != nil, recorded && started(d.previous):
		return true
	case downgrade:
		d.blockDowngrade()
		return false
	case d.in.Gate.Supervised:
		d.awaitApproval()
		return false
	default:
		return true
	}
}

// approve records an approval. It is valid only after its change was stored, so that the user has seen the change and
// the state shows it.
func (d *decider) approve(context *v1alpha1.UpgradeContext, recorded, older bool) {
	approval := d.in.Gate.DowngradeApproval
	if !older {
		approval = d.in.Gate.Approval
	}
	switch {
	case context.ApprovedAt != nil || approval != context.ApprovalToken || !older && !d.in.Gate.Supervised:
	case !recorded:
		d.requeueAt(d.in.Now)
	case older:
		context.ApprovedAt = d.now()
		d.normal(statusevents.EventDowngradeApproved, "The change from %s back to %s is approved.", d.out.From, d.in.Image)
	default:
		context.ApprovedAt = d.now()
		d.normal(statusevents.EventUpgradeApproved, "The change from %s to %s is approved.", d.out.From, d.in.Image)
	}
}

// blockDowngrade blocks an image that is older than that of the last migration.
func (d *decider) blockDowngrade() {
	if d.block(v1alpha1.LifecycleBlocked, v1alpha1.PhaseBlocked) {
		d.warning(statusevents.EventDowngradeBlocked, "The change from %s back to %s is blocked.", d.out.From, d.in.Image)
	}
	d.setWaiting(v1alpha1.ReasonDowngradeBlocked, fmt.Sprintf(
		"%s is older than %s, for which the metastore was migrated. Revert the image, or restore the metastore and run `%s`.",
		d.in.Image, d.out.From, d.approveCommand(v1alpha1.AnnotationApproveDowngrade)))
}

// awaitApproval waits for the approval of the change.
func (d *decider) awaitApproval() {
	if d.block(v1alpha1.LifecycleAwaitingApproval, v1alpha1.PhaseAwaitingApproval) {
		d.normal(statusevents.EventAwaitingApproval, "The change from %s to %s waits for an approval.", d.out.From, d.in.Image)
	}
	d.setWaiting(v1alpha1.ReasonAwaitingApproval, fmt.Sprintf("The change from %s to %s waits for an approval. To approve it, run `%s`.",
		d.out.From, d.in.Image, d.approveCommand(v1alpha1.AnnotationApproveUpgrade)))
}

func (d *decider) approveCommand(annotation string) string {
	return fmt.Sprintf("kubectl annotate superset %s %s=%s --overwrite", d.in.Name, annotation, d.status.Upgrade.ApprovalToken)
}

// block prevents the tasks from starting, and reports whether the state changed. Jobs of a former target are deleted;
// the status of completed tasks stays, so that reverting the change leaves no trace.
func (d *decider) block(phase v1alpha1.LifecyclePhase, summary v1alpha1.Phase) bool {
	d.pruneTasks()
	for i := range d.in.Steps {
		step := &d.in.Steps[i]
		if entry := d.entry(step); entry != nil && entry.State != v1alpha1.TaskComplete {
			d.setDesired(step, d.ensureEntry(step))
			d.setTaskCondition(step, metav1.ConditionFalse, v1alpha1.ReasonTaskWaiting, "Waiting for the approval of the image change.")
		}
	}
	d.deleteActiveJobs(nil)
	d.allowHoldBeforeTasks()
	d.status.Phase, d.out.Phase = phase, summary
	return d.previous.Phase != phase || approvalToken(d.previous.Upgrade) != approvalToken(d.status.Upgrade)
}
