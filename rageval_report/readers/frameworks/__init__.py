"""What evaluation frameworks write, a small file each; none imports the framework it reads."""
