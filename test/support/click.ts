import type { JSHandle, Locator } from 'playwright-core'
import { TRY_MS, type UntilOptions, until } from './until.ts'

/**
 * Clicks with the mouse, once. A form that moves between press and release gets no click event: the
 * mouse was pressed on one element and released on another. So the click is repeated until the
 * target receives one.
 */
export async function click(
  target: Locator,
  { timeoutMs }: Pick<UntilOptions, 'timeoutMs'> = {},
): Promise<void> {
  let heard: JSHandle<{ isClicked: boolean }> | undefined
  // after a navigation the listener no longer exists
  const isClicked = () => heard?.evaluate((clicks) => clicks.isClicked).catch(() => true)
  await until(
    async () => {
      if (await isClicked()) return true
      heard = await target.evaluateHandle(listen, undefined, { timeout: TRY_MS })
      await target.click({ timeout: TRY_MS })
      return isClicked()
    },
    { what: `a click on ${target}`, ...(timeoutMs === undefined ? {} : { timeoutMs }) },
  )
}

interface Target {
  addEventListener(type: string, listener: () => void, options: { capture: boolean; once: boolean }): void
}

/** Runs in the page. */
function listen(element: Target) {
  const clicks = { isClicked: false }
  element.addEventListener(
    'click',
    () => {
      clicks.isClicked = true
    },
    { capture: true, once: true },
  )
  return clicks
}

/**
 * Clicks without the mouse, once, as soon as the one element that the locator finds is visible,
 * enabled and not covered. The check and the click are one task of the page, so the element cannot
 * move or be replaced in between. It costs a third of `click`, which also waits for animations.
 */
export async function clickOnce(
  target: Locator,
  { timeoutMs }: Pick<UntilOptions, 'timeoutMs'> = {},
): Promise<void> {
  await until(() => target.evaluateAll(clickOnTop), {
    what: `a click on ${target}`,
    everyMs: 50,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  })
}

/** The used members of a DOM element. */
interface PageElement {
  readonly ownerDocument: { elementFromPoint(x: number, y: number): PageElement | null }
  matches(selectors: string): boolean
  contains(other: PageElement | null): boolean
  scrollIntoView(options: { block: 'nearest'; behavior: 'instant' }): void
  getBoundingClientRect(): { x: number; y: number; width: number; height: number }
  focus(): void
  click(): void
}

/** Runs in the page. */
function clickOnTop(found: unknown[]): boolean {
  const [element, ...others] = found as PageElement[]
  if (element === undefined || others.length > 0) throw new Error(`found ${found.length} elements`)
  if (element.matches(':disabled, [aria-disabled=true]')) throw new Error('disabled')
  element.scrollIntoView({ block: 'nearest', behavior: 'instant' })
  const { x, y, width, height } = element.getBoundingClientRect()
  if (!element.contains(element.ownerDocument.elementFromPoint(x + width / 2, y + height / 2)))
    throw new Error('invisible or covered')
  element.focus()
  element.click()
  return true
}
