"""What the panel knows of accelerators."""

from clusters import catalogue


def test_chips_are_called_what_they_are():
    assert [catalogue.amount(count, "cpu") for count in (1, 4)] == ["1 slot", "4 slots"]
    assert [catalogue.amount(count, "v9") for count in (1, 4)] == ["1 chip", "4 chips"]
