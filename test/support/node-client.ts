import { createGatehouse, type Gatehouse, type SignInStep } from 'gatehouse-client'
import { type Browser, openBrowser } from './browser.ts'
import { type Harness, PASSWORD } from './harness.ts'

/** The package `gatehouse-client` in Node, on the cookies of a browser. */
export interface NodeClient {
  readonly gatehouse: Gatehouse
  readonly browser: Browser
}

export async function openNodeClient({
  gatehouse: { url },
}: Pick<Harness, 'gatehouse'>): Promise<NodeClient> {
  const browser = openBrowser(url)
  const gatehouse = createGatehouse({ baseUrl: url, cookieJar: browser.jar })
  await gatehouse.session()
  return { gatehouse, browser }
}

/** @param login without the domain */
export function signIn({ gatehouse }: NodeClient, login: string): Promise<SignInStep> {
  return gatehouse.signIn({ username: `${login}@example.test`, password: PASSWORD })
}

type Status = Exclude<SignInStep['status'], UnknownStatus>
type UnknownStatus = Extract<SignInStep['status'], { readonly [brand: symbol]: unknown }>
type StepAt<Name, Next> = Extract<SignInStep, { readonly status: Name; readonly next?: Next }>

/** The same step, if it has this status and this `next`. */
export function stepAt<Name extends Status, Next extends string | undefined = undefined>(
  step: SignInStep,
  status: Name,
  next?: Next,
): Next extends string ? StepAt<Name, Next> : Extract<SignInStep, { readonly status: Name }> {
  const found = 'next' in step ? step.next : undefined
  if (step.status !== status || (next !== undefined && found !== next))
    throw new Error(`the step is ${step.status} ${found}, not ${status} ${next}`)
  return step as never // just compared
}

/** The factor of this type, and of this provider. */
export function factorOf<One extends { readonly factorType: string; readonly provider?: string | undefined }>(
  factors: readonly One[],
  factorType: string,
  provider?: string,
): One {
  const found = factors.find(
    (one) => one.factorType === factorType && (provider === undefined || one.provider === provider),
  )
  if (found === undefined) throw new Error(`${factorType} is not offered`)
  return found
}

export async function lastOf(steps: AsyncIterable<SignInStep>): Promise<SignInStep> {
  let last: SignInStep | undefined
  for await (const step of steps) last = step
  if (last === undefined) throw new Error('no step came')
  return last
}
