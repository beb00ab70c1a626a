import type { UserConfig } from './sandbox-config.ts'

type Row = Pick<UserConfig, 'login' | 'password' | 'description'>

const HEAD: Row = { login: 'sign in as', password: 'password', description: 'what happens' }

/** The users to try, one line each, in columns for a terminal. */
export function usersTable(users: readonly Row[]): string {
  const rows = [HEAD, ...users]
  const loginWidth = Math.max(...rows.map((row) => row.login.length))
  const passwordWidth = Math.max(...rows.map((row) => shownPassword(row).length))
  const line = (row: Row) =>
    `  ${row.login.padEnd(loginWidth)}  ${shownPassword(row).padEnd(passwordWidth)}  ${row.description}`
  const rule = `  ${'-'.repeat(loginWidth)}  ${'-'.repeat(passwordWidth)}  ${'-'.repeat(40)}`
  return [line(HEAD), rule, ...users.map(line)].join('\n')
}

function shownPassword({ password }: Row): string {
  return password ?? '(none yet)'
}
