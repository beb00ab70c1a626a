import type { UserConfig } from './sandbox-config.ts'

type Row = Pick<UserConfig, 'login' | 'password' | 'description'>

const HEADER: Row = { login: 'sign in as', password: 'password', description: 'what happens' }

/** A table of the users for a terminal, one line per user. */
export function usersTable(users: readonly Row[]): string {
  const rows = [HEADER, ...users]
  const loginWidth = Math.max(...rows.map((row) => row.login.length))
  const passwordWidth = Math.max(...rows.map((row) => shownPassword(row).length))
  const line = (row: Row) =>
    `  ${row.login.padEnd(loginWidth)}  ${shownPassword(row).padEnd(passwordWidth)}  ${row.description}`
  const rule = `  ${'-'.repeat(loginWidth)}  ${'-'.repeat(passwordWidth)}  ${'-'.repeat(40)}`
  return [line(HEADER), rule, ...users.map(line)].join('\n')
}

function shownPassword({ password }: Row): string {
  return password ?? '(none yet)'
}
