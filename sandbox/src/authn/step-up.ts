import type { AppConfig } from '../sandbox-config.ts'
import type { ClientContext } from './client-context.ts'
import type { Org } from './org.ts'
import type { User } from './user.ts'

export type StepUpStart = { stateToken: string; redirectUrl: string }

/**
 * Begins a step-up for an app. With a user, the user already has a session at the org.
 *
 * @param signInPage the redirect target; default: the app's custom sign-in page
 */
export function beginStepUp(
  org: Org,
  {
    app,
    user,
    client,
    signInPage = app.signInPage ?? '',
  }: { app: AppConfig; user: User | undefined; client: ClientContext; signInPage?: string },
): StepUpStart {
  const { stateToken } = org.transactions.begin({ client, app, user, fromSession: user !== undefined })
  const redirectUrl = new URL(signInPage)
  redirectUrl.searchParams.set('stateToken', stateToken)
  return { stateToken, redirectUrl: redirectUrl.href }
}
