/**
 * Calls `visit` for every member of every object within a JSON value, at any depth; pure. Where it answers `false`, what
 * is below that member is not walked.
 */
export function walk(value: unknown, visit: (name: string, member: unknown) => unknown): void {
  if (typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) {
    for (const item of value) walk(item, visit)
    return
  }
  for (const name of Object.keys(value)) {
    const member = (value as Record<string, unknown>)[name]
    if (visit(name, member) !== false) walk(member, visit)
  }
}
