import { fillText } from '../language/fill.ts'
import { texts } from '../language/language.ts'

/** The name of a role for users. PAM may add roles that this page does not know. */
export function roleName(role: string): string {
  const names: Readonly<Record<string, string>> = texts.roleNames
  return names[role] ?? fillText(texts.unknownRole, { role })
}
