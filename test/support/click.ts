import type { Locator } from 'playwright-core'
import { type UntilParts, until } from './until.ts'

/**
 * Clicks once, as soon as the one element that the locator finds is visible, enabled, and covered by no other. The check
 * and the click are one task of the page, so the element cannot move or be replaced in between. A click of the mouse
 * (`Locator.click`) takes several tasks, and costs four times as much.
 */
export async function click(
  target: Locator,
  { timeoutMs }: Pick<UntilParts, 'timeoutMs'> = {},
): Promise<void> {
  await until(() => target.evaluateAll(clickOnTop), {
    what: `a click on ${target}`,
    everyMs: 50,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  })
}

/** What a page's element has, as far as it is used here. */
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
