import type { AppConfig } from '../sandbox-config.ts'
import type { Caller } from './caller.ts'
import type { Person } from './person.ts'
import type { World } from './world.ts'

export type StepUpStart = { stateToken: string; redirectUrl: string }

/**
 * Begins a step-up for an app, with or without an existing session at the org.
 *
 * @param signInPage where the browser is sent; default: the app's custom sign-in page
 */
export function beginStepUp(
  world: World,
  {
    app,
    person,
    caller,
    signInPage = app.signInPage ?? '',
  }: { app: AppConfig; person: Person | undefined; caller: Caller; signInPage?: string },
): StepUpStart {
  const { stateToken } = world.transactions.begin({ caller, app, person, fromSession: person !== undefined })
  const redirectUrl = new URL(signInPage)
  redirectUrl.searchParams.set('stateToken', stateToken)
  return { stateToken, redirectUrl: redirectUrl.href }
}
