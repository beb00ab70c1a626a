import type { ConsoleMessage, Locator, Page, Request, Response } from 'playwright-core'
import { click } from './click.ts'
import { TRY_MS, until } from './until.ts'
import { DUO_ORIGIN, type WidgetOptions } from './widget-site.ts'

/** The sign-in widget in a page, with every request that it sent. */
export interface Widget {
  readonly page: Page
  /** The form with this title. During the transition between two forms, both exist. */
  form(title: RegExp): Locator
  /** Waits for the form with the username, fills it in and submits it. */
  signIn(login: string, password: string): Promise<void>
  /**
   * Fills in inputs by name. The widget moves the focus after the transition, so text that was lost
   * is entered again.
   */
  fill(form: Locator, fields: Readonly<Record<string, string>>): Promise<void>
  click(target: Locator): Promise<void>
  /**
   * Clicks a form's button until the widget sends a request: it drops a click that closely follows
   * another.
   */
  send(form: Locator, button: string): Promise<void>
  /**
   * Its calls to the broker so far, such as `POST /api/v1/authn 200`. Repeated polls count once.
   */
  calls(): string[]
  /** Its reports to the page: success callback and errors. */
  reports(): Promise<WidgetReport[]>
  /** Waits for the success callback with this status. Default: SUCCESS. */
  done(status?: string): Promise<WidgetReport>
  /** Unexpected errors and undocumented responses. */
  problems(): Promise<string[]>
  /** Clears the page for the next widget. Navigates away if the widget has not finished. */
  close(): Promise<void>
}

export interface WidgetReport {
  readonly kind: 'done' | 'error' | 'failed'
  readonly status?: string
  readonly [field: string]: unknown
}

export interface OpenWidgetOptions {
  /** Reused, because loading the widget takes far longer than rendering it. */
  readonly page: Page
  /** The page's origin. */
  readonly pageUrl: string
  /** The broker's address, the widget's `baseUrl`. */
  readonly baseUrl: string
  readonly options?: WidgetOptions
}

interface Call {
  readonly method: string
  readonly path: string
  readonly status: number
}

export async function openWidget({ page, pageUrl, baseUrl, options }: OpenWidgetOptions): Promise<Widget> {
  const record = recordOf(page, new URL(pageUrl).origin, new URL(baseUrl).origin)
  if (!page.url().startsWith(`${pageUrl}/portal/`)) await page.goto(`${pageUrl}/portal/`)
  await page.evaluate(`renderWidget(${JSON.stringify({ baseUrl, ...options })})`)

  const form = (title: RegExp) =>
    page.locator('.auth-content form').filter({ has: page.getByRole('heading', { name: title }) })
  const reports = () => page.evaluate<WidgetReport[]>('reports')

  const send: Widget['send'] = async (form, name) => {
    const before = record.requests()
    await until(
      async () => {
        if (record.requests() > before) return true
        await click(form.getByRole('button', { name }), { timeoutMs: TRY_MS })
        return record.requests() > before
      },
      { everyMs: 100, what: `a request after ${name}` },
    )
  }
  const fill: Widget['fill'] = (filled, fields) =>
    until(async () => {
      const inputs = Object.entries(fields).map(
        ([name, value]) => [filled.locator(`input[name=${name}]`), value] as const,
      )
      for (const [input, value] of inputs) await input.fill(value, { timeout: TRY_MS })
      const kept = await Promise.all(
        inputs.map(async ([input, value]) => (await input.inputValue({ timeout: TRY_MS })) === value),
      )
      return kept.every(Boolean)
    }).then(() => undefined)

  return {
    page,
    click,
    fill,
    send,
    form,
    async signIn(login, password) {
      const signInForm = form(/^Sign In$/)
      await fill(signInForm, { username: login, password })
      await send(signInForm, 'Sign In')
    },
    calls: () =>
      withoutRepeats(
        record.calls.map(({ method, path, status }) => `${method} ${msignInForm(path)} ${status}`),
      ),
    reports,
    done: (status = 'SUCCESS') =>
      until(
        async (): Promise<WidgetReport> => {
          const found = (await reports()).find((report) => report.status === status)
          if (found === undefined) throw new Error('not yet')
          return found
        },
        { everyMs: 100, what: `the success callback with ${status}` },
      ),
    problems: async () => [
      ...record.problems,
      ...record.calls
        .filter(isUnexpected)
        .map(({ method, path, status }) => `${method} ${path} was answered ${status}`),
      ...(await reports())
        .filter(({ kind }) => kind === 'failed')
        .map(({ message }) => `the widget failed: ${message}`),
    ],
    async close() {
      record.stop()
      await page.unrouteAll()
      await page.evaluate('localStorage.clear(); sessionStorage.clear()')
      // an unfinished widget may still poll
      if (!(await reports()).some(({ status }) => status === 'SUCCESS')) await page.goto('about:blank')
      await page.context().clearCookies()
    },
  }
}

function recordOf(page: Page, pageOrigin: string, brokerOrigin: string) {
  const calls: Call[] = []
  const problems: string[] = []
  const isCall = (url: URL) => url.origin === brokerOrigin && !url.pathname.startsWith('/portal/')

  let requests = 0
  const onRequest = (request: Request) => {
    const { origin, protocol } = new URL(request.url())
    if (isCall(new URL(request.url()))) requests += 1
    const isKnown = [pageOrigin, brokerOrigin, DUO_ORIGIN].includes(origin) || protocol === 'data:'
    if (!isKnown) problems.push(`a request to ${request.url()}`)
  }
  const onFailed = (request: Request) => {
    const isAborted = request.failure()?.errorText === 'net::ERR_ABORTED'
    if (request.isNavigationRequest() && isAborted) return // answered 204, so the page stays
    problems.push(`${request.url()} failed: ${request.failure()?.errorText}`)
  }
  const onResponse = (response: Response) => {
    const url = new URL(response.url())
    const method = response.request().method()
    if (isCall(url)) calls.push({ method, path: url.pathname, status: response.status() })
    else if (response.status() >= 400) problems.push(`${url.href} was answered ${response.status()}`)
  }
  const onError = (error: Error) => problems.push(`script error: ${error.message}`)
  const onConsole = (message: ConsoleMessage) => {
    // Chromium logs every response with status 400 or more; calls() has them
    const isForCall =
      message.text().startsWith('Failed to load resource') && isCall(new URL(message.location().url))
    if (message.type() === 'error' && !isForCall) problems.push(`console: ${message.text()}`)
  }
  page.on('request', onRequest).on('requestfailed', onFailed).on('response', onResponse)
  page.on('pageerror', onError).on('console', onConsole)
  const stop = () => {
    page.off('request', onRequest).off('requestfailed', onFailed).off('response', onResponse)
    page.off('pageerror', onError).off('console', onConsole)
  }
  return { calls, problems, requests: () => requests, stop }
}

const isUnexpected = ({ status }: Call) => status >= 500 || status === 404

/** Ids and tokens differ from run to run. */
function msignInForm(path: string): string {
  return path
    .replace(/\/users\/[^/]+/, '/users/:uid')
    .replace(/\/factors\/(?!questions|SMS|CALL)[^/]+/, '/factors/:id')
    .replace(/\/qr\/.*/, '/qr/:token')
}

function withoutRepeats(lines: readonly string[]): string[] {
  return lines.filter((line, index) => line !== lines[index - 1])
}
