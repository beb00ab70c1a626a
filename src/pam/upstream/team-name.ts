/** A team's name means the same in any letter case: the API may write it in another one than `PAM_TEAM`. */
export function isSameTeam(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase()
}
