import type { PersonConfig } from './sandbox-config.ts'

type Row = Pick<PersonConfig, 'login' | 'password' | 'says'>

const HEAD: Row = { login: 'sign in as', password: 'password', says: 'what happens' }

/** The people to try, one line each, in columns for a terminal. */
export function peopleTable(people: readonly Row[]): string {
  const rows = [HEAD, ...people]
  const loginWidth = Math.max(...rows.map((row) => row.login.length))
  const passwordWidth = Math.max(...rows.map((row) => shownPassword(row).length))
  const line = (row: Row) =>
    `  ${row.login.padEnd(loginWidth)}  ${shownPassword(row).padEnd(passwordWidth)}  ${row.says}`
  const rule = `  ${'-'.repeat(loginWidth)}  ${'-'.repeat(passwordWidth)}  ${'-'.repeat(40)}`
  return [line(HEAD), rule, ...people.map(line)].join('\n')
}

function shownPassword({ password }: Row): string {
  return password ?? '(none yet)'
}
