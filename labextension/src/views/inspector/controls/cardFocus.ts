/** The way to the card of the chosen item by keys, and back. */

/**
 * Moves the focus into the card and back to where it came from.
 *
 * Responsibilities: know the card that is drawn, and from where it was entered.
 */
export class CardFocus {
  private _card: HTMLElement | null = null;
  private _from: HTMLElement | null = null;
  /** From where a card is to be entered that is not drawn yet. */
  private _waits: HTMLElement | null = null;

  /** Notes the card, while it is drawn, and enters it where that was asked for before. */
  setCard(card: HTMLElement | null): void {
    this._card = card;
    const from = this._waits;
    if (card !== null && from !== null) {
      this._waits = null;
      // Whoever has gone on meanwhile stays where they are.
      if (document.activeElement === from) {
        this.enter(from);
      }
    }
  }

  /** Moves the focus into the card, now or when it is drawn; whether there is one now. */
  enter(from: HTMLElement): boolean {
    if (this._card === null) {
      this._waits = from;
      return false;
    }
    if (!this._card.contains(from)) {
      this._from = from;
    }
    this._card.focus();
    return true;
  }

  /** Moves the focus back; whether there was a way. */
  leave(): boolean {
    const from = this._from;
    this._from = null;
    if (from === null || !from.isConnected) {
      return false;
    }
    from.focus();
    return true;
  }
}
