// Describes a lifecycle event in a sentence.

export function describe(l) {
  const parts = [];
  if (l.condition) {
    const {before, after} = l.condition;
    parts.push(`${l.condition.type}: ${before ? `${before.status} → ` : ''}${after.status} (${after.reason})`);
    if (after.message) parts.push(after.message);
  }
  if (l.phase) {
    const way = [l.phase.from, l.phase.to].filter(Boolean).join(' → ');
    parts.push(`Phase: ${way}${l.phase.reason ? ` (${l.phase.reason})` : ''}`);
    if (l.phase.message) parts.push(l.phase.message);
  }
  if (l.event === 'snapshot') parts.unshift('First observation');
  if (l.event === 'deleted') parts.unshift('Deleted');
  if (l.gap) parts.push('Earlier changes are missing');
  if (l.message) parts.push(l.message);
  return parts.join('. ');
}
