import { afterAll, afterEach, beforeAll, beforeEach, expect } from '@jest/globals'
import type { Browser, Page } from 'playwright-core'
import { freePort } from './gatehouse.ts'
import { type Harness, PASSWORD, startHarness } from './harness.ts'
import { until } from './until.ts'
import { openWidget, type Widget } from './widget.ts'
import { DUO_ORIGIN, startWidgetSite, type WidgetOptions } from './widget-site.ts'

/** A broker and a page with the sign-in widget, as the fixture of one test file. */
export interface Widgets {
  readonly harness: Harness
  readonly page: Page
  readonly pageUrl: string
  readonly brokerUrl: string
  /** Renders a new widget in a clean page. */
  open(options?: WidgetOptions): Promise<Widget>
  codeSentTo(login: string): Promise<string>
  /** Clicks the widget's button to enroll the factor with this name. */
  chooseFactor(widget: Widget, name: string): Promise<void>
  /** The response of `sessions/me` with the browser's cookies. */
  whoIsSignedIn(): Promise<unknown>
}

type PageOrigin = 'on the broker’s origin' | 'on another origin of the same site'

/**
 * Registers the hooks that start and stop the fixture, and that check and clear the widget after
 * each test.
 */
export function useWidgets(origin: PageOrigin, chromium: () => Browser): Widgets {
  const isSameOrigin = origin === 'on the broker’s origin'
  const stops: (() => Promise<void>)[] = []
  let started: Pick<Widgets, 'harness' | 'page' | 'pageUrl' | 'brokerUrl'> | undefined
  let opened: Widget | undefined

  const current = () => {
    if (started === undefined) throw new Error('not started yet')
    return started
  }

  beforeAll(async () => {
    let broker = ''
    const brokerSite = await startWidgetSite({ port: await freePort(), broker: () => broker })
    stops.unshift(brokerSite.stop)
    const pageSite = isSameOrigin ? brokerSite : await startWidgetSite({ port: await freePort() })
    if (!isSameOrigin) stops.unshift(pageSite.stop)
    const allowed: Record<string, string> = isSameOrigin ? {} : { ALLOWED_ORIGINS: pageSite.url }
    const signInPage = { STEP_UP: 'on', SIGN_IN_URL: `${pageSite.url}/portal/` }
    const harness = await startHarness({ env: { PUBLIC_URL: brokerSite.url, ...allowed, ...signInPage } })
    stops.unshift(harness.stop)
    broker = harness.gatehouse.url
    const page = await chromium().newPage()
    stops.unshift(() => page.context().close())
    page.setDefaultTimeout(60_000)
    started = { harness, page, pageUrl: pageSite.url, brokerUrl: brokerSite.url }
  })
  afterAll(async () => {
    for (const stop of stops) await stop()
  })
  beforeEach(() => current().harness.sandbox.reset())
  afterEach(async () => {
    const problems = await opened?.problems()
    await opened?.close()
    opened = undefined
    expect(problems ?? []).toEqual([])
  })

  return {
    get harness() {
      return current().harness
    },
    get page() {
      return current().page
    },
    get pageUrl() {
      return current().pageUrl
    },
    get brokerUrl() {
      return current().brokerUrl
    },
    async open(options = {}) {
      const { page, pageUrl, brokerUrl } = current()
      opened = await openWidget({ page, pageUrl, baseUrl: brokerUrl, options })
      return opened
    },
    codeSentTo: (login) =>
      until(() => current().harness.sandbox.outbox.latest(login)?.code ?? '', {
        what: `a code for ${login}`,
      }),
    chooseFactor: (widget, name) =>
      widget.click(
        widget
          .form(/^Set up/)
          .getByRole('listitem')
          .filter({ has: widget.page.getByRole('heading', { name, exact: true }) })
          .getByText(/Set ?up/),
      ),
    whoIsSignedIn: async () =>
      (await current().page.context().request.get(`${current().brokerUrl}/api/v1/sessions/me`)).json(),
  }
}

export const DARIO = 'dario.duo@example.test'
export const DUO_CALLBACK = 'POST /api/v1/authn/factors/:id/lifecycle/duoCallback'

/** Opens Duo’s page for Dario. It posts a signed response at once. */
export async function signInToDuo({ page, harness, open }: Widgets): Promise<Widget> {
  await page.route(`${DUO_ORIGIN}/**`, async (route) => {
    const [signed] = harness.sandbox.duoResponse(DARIO).split(':')
    const body = `<script>parent.postMessage(${JSON.stringify(signed)}, '*')</script>`
    await route.fulfill({ contentType: 'text/html', body })
  })
  const widget = await open()
  await widget.signIn(DARIO, PASSWORD)
  return widget
}
