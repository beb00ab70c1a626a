import { useAction } from './use-action.ts'

interface ButtonProps {
  readonly label: string
  readonly onPress: () => Promise<void>
  /** For screen readers, if the label alone is not clear. */
  readonly description?: string
  /** Looks like a link, within a text. */
  readonly isLink?: boolean
}

export function Button({ label, onPress, description, isLink }: ButtonProps) {
  const { isOff, labelOf, start } = useAction()
  return (
    <button
      type="button"
      className={isLink ? 'link' : undefined}
      aria-disabled={isOff}
      aria-label={description}
      onClick={() => start(onPress)}
    >
      {labelOf(label)}
    </button>
  )
}
