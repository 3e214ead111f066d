/** Buttons that move an item of a list. The focus stays on the button, so that it can be pressed again. */

export interface Move {
  /** The direction, such as `up`. */
  key: string;
  text: string;
  isPossible: boolean;
  move: () => void;
}

interface MoveButtonsProps {
  /** The id of the item. */
  id: string;
  /** What the item is called. */
  name: string;
  moves: readonly Move[];
}

/** Show the buttons. */
export function MoveButtons({ id, name, moves }: MoveButtonsProps) {
  return (
    <>
      {moves.map(({ key, text, isPossible, move }) => (
        <button
          key={key}
          type="button"
          class="quiet"
          aria-label={`Move ${key}: ${name}`}
          disabled={!isPossible}
          data-move={`${id} ${key}`}
          onClick={() => {
            move();
            keepFocus(id, key);
          }}
        >
          {text}
        </button>
      ))}
    </>
  );
}

/** Focus the button again after the item was moved, or another one if it cannot be used any more. */
function keepFocus(id: string, key: string): void {
  setTimeout(() => {
    const buttons = [...document.querySelectorAll<HTMLButtonElement>('[data-move]:not(:disabled)')].filter((each) =>
      each.dataset.move?.startsWith(`${id} `),
    );
    (buttons.find((each) => each.dataset.move === `${id} ${key}`) ?? buttons[0])?.focus();
  });
}
