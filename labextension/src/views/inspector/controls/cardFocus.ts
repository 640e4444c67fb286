/** The way to the card of the chosen item by keys, and back. */

/**
 * Moves the focus into the card and back to where it came from.
 *
 * Responsibilities: know the card that is drawn, and from where it was entered.
 */
export class CardFocus {
  private _card: HTMLElement | null = null;
  private _origin: HTMLElement | null = null;
  /** Where the focus was when it was to go to a card that is not drawn yet. */
  private _pendingOrigin: HTMLElement | null = null;

  /** Notes the card, while it is drawn, and enters it where that was asked for before. */
  setCard(card: HTMLElement | null): void {
    this._card = card;
    const origin = this._pendingOrigin;
    if (card !== null && origin !== null) {
      this._pendingOrigin = null;
      // Whoever has gone on meanwhile stays where they are.
      if (document.activeElement === origin) {
        this.moveIntoCard(origin);
      }
    }
  }

  /** Moves the focus into the card, now or when it is drawn; returns whether a card is drawn now. */
  moveIntoCard(origin: HTMLElement): boolean {
    if (this._card === null) {
      this._pendingOrigin = origin;
      return false;
    }
    if (!this._card.contains(origin)) {
      this._origin = origin;
    }
    this._card.focus();
    return true;
  }

  /** Moves the focus back to where it came from; returns whether that was possible. */
  moveBack(): boolean {
    const origin = this._origin;
    this._origin = null;
    if (origin === null || !origin.isConnected) {
      return false;
    }
    origin.focus();
    return true;
  }
}
